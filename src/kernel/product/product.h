// A block of a matrix product, in memory: the call between a kernel's loops and the register-blocked code for products.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "tenon/dtype.h"

namespace tenon {

/// tile[m, n] = (accumulate ? tile[m, n] : 0) + the sum over k of left[m, k] * right[k, n]. Strides are in elements.
/// Sums run over k in order, each step one fused multiply-add (integers: exact, wrapping), so that blocks of k one
/// after the other give the bits of one long sum. Only sums of f32 over a long depth run in parts (sums_in_parts()).
/// `tile` overlaps neither operand.
struct ProductCall {
  const void* left = nullptr;
  int64_t left_row = 0;
  int64_t left_depth = 1;
  const void* right = nullptr;
  int64_t right_depth = 0;
  int64_t right_column = 1;
  /// Above 0: `right` lies in panels of that many columns: column c at (c / panel) * right_panel + c % panel, and
  /// right_column is not used. Whole panels may be read, whatever `columns` is. `together` steps of a column lie side
  /// by side, in the place of as many rows of the panel; the last ones are filled up with zeros.
  int64_t panel = 0;
  int64_t right_panel = 0;
  int64_t together = 1;
  void* tile = nullptr;  // rows of the accumulators' dtype, columns side by side
  int64_t tile_row = 0;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t depth = 0;
  int64_t accumulate = 0;
};

/// Steps of bytes that dot products sum.
inline constexpr int64_t kBytesTogether = 4;

/// A sum of f32 over more steps than this would lose digits: what is added is rounded to those of a sum that is by far
/// larger. So each so many steps are a sum of their own, and these are added up in order.
inline constexpr int64_t kLongestSum = 4096;
inline constexpr int64_t kPartOfSum = 512;

/// What products are made of: both operands' dtype and that of the tile. f16 and bf16 accumulate in f32, i8 and u8 in
/// i32. By f32 the right operand may be narrower: weights that take less memory are widened as they are read.
struct ProductTypes {
  Dtype left = Dtype::f32;
  Dtype right = Dtype::f32;
  Dtype tile = Dtype::f32;

  friend bool operator==(const ProductTypes&, const ProductTypes&) = default;
};

/// A combination of dtypes that products exist for, and the function that emitted code calls for it:
///   extern "C" void symbol(const ProductCall*, void* scratch)
/// where `scratch` is kProductScratchBytes of the caller's own, aligned to 64 bytes.
struct ProductKind {
  ProductTypes types;
  std::string_view symbol;
};
std::span<const ProductKind> product_kinds();
bool is_product(const ProductTypes& types);
/// Whether it is one of eight-bit integers.
bool is_byte_product(const ProductTypes& types);
/// Whether the right operand alone is narrower than the sums.
bool has_narrow_right(const ProductTypes& types);

/// Whether the sums of the call run in parts.
inline bool sums_in_parts(const ProductTypes& types, const ProductCall& call) {
  return types.tile == Dtype::f32 && call.depth > kLongestSum;
}

/// Where element (depth, column) of the right operand lies, in elements.
int64_t right_offset(const ProductCall& call, int64_t depth, int64_t column);

inline constexpr int64_t kProductScratchBytes = int64_t{512} << 10;
/// Enough for products of f32 whose right operand lies in panels of the machine's own width: nothing is copied.
inline constexpr int64_t kProductPanelScratchBytes = 64;

/// A product as loops that are obviously right. A combination of dtypes that is not among product_kinds() is our bug.
void reference_product(const ProductTypes& types, const ProductCall& call);

}  // namespace tenon
