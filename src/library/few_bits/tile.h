// Products by matrices of numbers of a few bits: a few rows by one panel of columns, made for each kind of processor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "kernel/program/number_code.h"

namespace tenon::library::few_bits {

/// Columns that lie side by side, each with four bytes after the other: kPanel words of 32 bits are a row of a panel.
inline constexpr int64_t kPanel = 32;
inline constexpr int64_t kWordBytes = 4;
/// Blocks are no longer than this, so that sums of their bytes stay within 32 bits.
inline constexpr int64_t kMostBlock = 256;

/// out[row, column] = the sum over blocks of scales[block, column] times the sum over the block of
/// left * (number - zero). A word has 32 / bits numbers of a column, the lowest bits first.
struct Tile {
  const std::byte* words = nullptr;  // [blocks, words of a block, kPanel]
  const float* scales = nullptr;     // [blocks, kPanel]
  const uint8_t* zeros = nullptr;    // [blocks, kPanel]; null: half of what the bits can count
  int64_t blocks = 0;
  int64_t block_words = 0;
  /// Floats in their order; or bytes with sign, for each word of the panels its first numbers of each byte, then the
  /// second ones and so on: as they meet where words are shifted and masked.
  const void* left = nullptr;
  int64_t left_row = 0;                  // elements from row to row
  const float* left_scales = nullptr;    // [rows, blocks]: of floats their sum, which zeros alone need
  const int32_t* left_sums = nullptr;    // of bytes: [rows, blocks], as RowInBytes says
  const int32_t* left_starts = nullptr;  // likewise
  float* out = nullptr;
  int64_t out_row = 0;  // elements from row to row; each has kPanel
};

/// A row in bytes, block by block, in the order that Tile says. A block's scale is its largest magnitude / 127, and its
/// elements are rounded to nearest, ties to even; blocks of nothing but numbers below 1e-36 are zeros. Where an element
/// is no number or infinite, so is the scale.
struct RowInBytes {
  const float* row = nullptr;
  int64_t depth = 0;  // elements; those behind them in the last block are zeros
  int64_t block = 0;  // elements of a block
  int64_t blocks = 0;
  int8_t* bytes = nullptr;    // [blocks * block]
  float* scales = nullptr;    // [blocks]
  int32_t* sums = nullptr;    // [blocks]: of the bytes
  int32_t* starts = nullptr;  // [blocks]: what sums of products begin with where there are no zeros
};

inline constexpr int kMostRows = 8;

/// What one kind of processor computes with numbers of so many bits, or of such a code. Integer parts are exact; floats
/// are added block by block, by fused multiply-adds where `is_fused`.
struct Kernels {
  std::string_view name;  // of the instructions
  bool is_fused = false;
  int integer_rows = 0;  // at most at once; none where numbers are floats
  int float_rows = 0;
  /// By the number of rows; without zeros and with them.
  std::array<std::array<void (*)(const Tile&), 2>, kMostRows + 1> integers = {};
  std::array<std::array<void (*)(const Tile&), 2>, kMostRows + 1> floats = {};
  void (*in_bytes)(const RowInBytes&) = nullptr;
};

/// What numbers are: integers of 2, 4 or 8 bits, or floats.
struct Numbers {
  int64_t bits = 4;
  NumberCode code = NumberCode::integer;
};

/// Those that this processor can run, the fastest first.
std::span<const Kernels> kernels_for(const Numbers& numbers);
/// Those that every processor can run.
Kernels plain_kernels(const Numbers& numbers);

/// f<bits, code>() of these numbers.
template <class F>
auto for_numbers(const Numbers& numbers, const F& f) {
  switch (numbers.code) {
    case NumberCode::e2m1: return f.template operator()<4, NumberCode::e2m1>();
    case NumberCode::e4m3fn: return f.template operator()<8, NumberCode::e4m3fn>();
    case NumberCode::e4m3fnuz: return f.template operator()<8, NumberCode::e4m3fnuz>();
    case NumberCode::e5m2: return f.template operator()<8, NumberCode::e5m2>();
    case NumberCode::e5m2fnuz: return f.template operator()<8, NumberCode::e5m2fnuz>();
    case NumberCode::integer: break;
  }
  return numbers.bits == 2   ? f.template operator()<2, NumberCode::integer>()
         : numbers.bits == 4 ? f.template operator()<4, NumberCode::integer>()
                             : f.template operator()<8, NumberCode::integer>();
}

}  // namespace tenon::library::few_bits
