// Copies of the operands of a product, as register tiles read them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernel/product/product_blocked.h"

namespace tenon {

/// Of one product, which outlives it.
class ProductPacking {
 public:
  /// The most steps of depth that a copy of the left operand may have.
  static constexpr int64_t kMostDepth = 1024;

  ProductPacking(const ProductKernels& kernels, const ProductTypes& types, const ProductCall& call);

  /// Where an element of the right operand lies.
  const std::byte* right_at(int64_t depth, int64_t column) const;

  /// Bytes of a panel of so many steps of depth, filled up to whole steps of tiles.
  int64_t panel_bytes(int64_t depth) const;

  /// Steps [begin, begin + depth) of columns [first, first + width) of the right operand, in panels one after the
  /// other.
  void pack_right(int64_t begin, int64_t depth, int64_t first, int64_t width, std::byte* to) const;

  /// The same steps of rows [row, row + rows) of the left operand. Sets how `steps` walks through them. A row takes at
  /// most 127 bytes more than its elements.
  void pack_left(int64_t row, int64_t rows, int64_t begin, int64_t depth, std::byte* to, ProductSteps& steps) const;

 private:
  void pack_panel(int64_t begin, int64_t depth, int64_t first, int64_t columns, std::byte* to) const;
  void copy_element(const std::byte* from, std::byte* to) const;
  /// Bytes whose rows lie side by side.
  void pack_left_columns(const std::byte* from, int64_t rows, int64_t depth, std::byte* to, int64_t stride) const;
  void pack_left_row(const std::byte* from, int64_t depth, std::byte* to) const;
  int64_t whole_steps(int64_t depth) const { return (depth + k_.step - 1) / k_.step * k_.step; }

  const ProductKernels& k_;
  const ProductTypes& types_;
  const ProductCall& call_;
  const int64_t left_bytes_;  // of elements in the operands
  const int64_t right_bytes_;
};

/// Bytes of the left operand with their highest bit turned are 128 off, one way or the other. So sums have too much
/// what a row of zeros, turned likewise, gives for their column.
class FlippedBytes {
 public:
  static constexpr int64_t kMostColumns = 64;

  /// As many as a copy of the left operand may have.
  static const std::byte* zeros();
  /// Where the sums of that row belong, of at most kMostColumns.
  std::byte* excess() { return reinterpret_cast<std::byte*>(excess_.data()); }
  /// From a tile of i32 whose rows are `stride` bytes apart, or from zeros in its place.
  void subtract(int64_t rows, int64_t columns, std::byte* tile, int64_t stride, bool accumulate) const;

 private:
  alignas(64) std::array<uint32_t, kMostColumns> excess_;
};

/// Rows this far apart fall on the same few places of a cache.
inline bool collides(int64_t stride_bytes) { return stride_bytes % 2048 == 0; }

}  // namespace tenon
