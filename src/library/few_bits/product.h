// A whole product by a matrix of a few bits: rows in the form that tiles read, and threads that share panels.
#pragma once

#include "library/few_bits/tile.h"
#include "library/workers.h"

namespace tenon::library::few_bits {

/// FewBitsRoutine at concrete sizes, `rows` at least 1.
struct Product {
  const float* x = nullptr;          // [rows, depth]
  const std::byte* words = nullptr;  // [panels, blocks, block_words, kPanel]
  const float* scales = nullptr;     // [panels, blocks, kPanel]
  const uint8_t* zeros = nullptr;    // as the scales, or null
  float* y = nullptr;                // [rows, columns]
  int64_t rows = 0;
  int64_t depth = 0;
  int64_t columns = 0;
  int64_t blocks = 0;
  int64_t block_words = 0;
  int64_t bits = 4;
  bool rounds = false;
};

/// The same bits for any number of rows and threads. Memory besides: a copy of x in bytes, or one of floats where its
/// last block is not whole.
void multiply(const Kernels& kernels, const Product& product, const Workers& workers);

}  // namespace tenon::library::few_bits
