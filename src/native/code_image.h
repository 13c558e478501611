// Machine code that was linked when it was written: one block, which runs wherever it lies, and what it asks of the
// process that loads it. Plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tenon/machine.h"

namespace tenon::codegen {

/// Behind the code lies a table of slots of 8 bytes, at a distance that is a multiple of this, so that code and slots
/// never share a page. Code reads slots and never writes them.
inline constexpr int64_t kSlotAlignment = int64_t{64} << 10;

/// Code and slots together, at most: calls reach so far on every target.
inline constexpr int64_t kMostImageBytes = int64_t{64} << 20;

/// Kernels of products of one kind.
struct ImageProduct {
  int kind = -1;  // a place in product_kinds()
  /// Where functions `void (void** addresses)` begin: product_table() of native/. None: the image does not bring them
  /// along, and those are taken that are linked into the process (native/linked_products.h).
  std::vector<int64_t> parts;

  friend bool operator==(const ImageProduct&, const ImageProduct&) = default;
};

/// Slot i belongs to imports[i]: the address of a function of external_symbols(). Behind these each product has two:
/// the function that multiplies, and what its third argument is, by which it finds the kernels of this image.
struct CodeImage {
  Machine machine;              // that the code is for
  std::vector<std::byte> code;  // functions and their constants
  std::vector<std::string> imports;
  std::vector<ImageProduct> products;
  std::vector<int64_t> kernels;  // where each begins in the code

  friend bool operator==(const CodeImage&, const CodeImage&) = default;
};

/// How far the slots lie behind the beginning of the code, and how many there are.
int64_t slots_at(const CodeImage& image);
int64_t slot_count(const CodeImage& image);

std::vector<std::byte> to_bytes(const CodeImage& image);
/// What to_bytes() wrote. Other bytes are an Error: no machine, places outside of the code, kinds that there are not,
/// more than kMostImageBytes. What the code does nobody checks.
CodeImage image_from_bytes(std::span<const std::byte> bytes);

}  // namespace tenon::codegen
