#include "kernel/product_blocked.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/convert.h"
#include "kernel/product_caches.h"

namespace tenon {
namespace {

int64_t blocks(int64_t size, int64_t block) { return (size + block - 1) / block; }

/// The least blocks of at most `limit`, all alike, in multiples of `unit`.
int64_t balanced(int64_t size, int64_t limit, int64_t unit) {
  return blocks(blocks(size, blocks(size, std::max(limit / unit * unit, unit))), unit) * unit;
}

const std::byte* at(const void* base, int64_t bytes) { return static_cast<const std::byte*>(base) + bytes; }
std::byte* at(void* base, int64_t bytes) { return static_cast<std::byte*>(base) + bytes; }

/// Rows this far apart fall on the same few places of a cache.
bool collides(int64_t stride_bytes) { return stride_bytes % 2048 == 0; }

/// One product: what stays the same from block to block.
class Blocked {
 public:
  Blocked(const ProductKernels& kernels, const ProductTypes& types, const ProductCall& call, void* scratch)
      : k_(kernels), call_(call), scratch_(static_cast<std::byte*>(scratch)) {
    bytes_ = static_cast<int64_t>(byte_size(types.tile));
    steps_.left_row = call.left_row * bytes_;
    steps_.left_depth = call.left_depth * bytes_;
    steps_.tile_row = call.tile_row * bytes_;
    // Out of cache, narrow strips were measured to be fetched faster; in cache, wide tiles have more sums under way.
    const bool large = call.depth * call.columns * bytes_ > cache_sizes().second;
    widest_ = large ? 2 * k_.panel : kProductScratchBytes;
  }

  void run() {
    if (in_dots()) {
      dots();
      return;
    }
    if (!in_place()) {
      packed(0, call_.columns);
      return;
    }
    steps_.depth = call_.depth;
    steps_.accumulate = call_.accumulate;
    steps_.right_depth = call_.right_depth * bytes_;
    const std::byte* const left = at(call_.left, 0);
    if (call_.panel == 0 && call_.rows <= k_.rows) {
      const int64_t whole = k_.masks ? call_.columns : call_.columns / k_.lanes * k_.lanes;
      span(call_.rows, left, at(call_.right, 0), at(call_.tile, 0), whole);
      if (whole < call_.columns) packed(whole, call_.columns - whole);
      return;
    }
    const int64_t panel = call_.panel > 0 ? call_.panel : k_.panel;
    const int64_t apart = call_.panel > 0 ? call_.right_panel : panel;
    const int64_t whole = k_.masks || call_.panel > 0 ? call_.columns : call_.columns / k_.lanes * k_.lanes;
    for (int64_t column = 0; column < whole; column += panel) {
      strip(call_.rows, left, at(call_.right, column / panel * apart * bytes_), at(call_.tile, column * bytes_),
            std::min(panel, whole - column));
    }
    if (whole < call_.columns) packed(whole, call_.columns - whole);
  }

 private:
  /// Whether few rows meet a right operand whose depth is contiguous: packing it would cost more than the product.
  bool in_dots() const {
    if (call_.panel > 0 || call_.right_column == 1 || call_.right_depth != 1 || call_.left_depth != 1) return false;
    return call_.rows <= (call_.depth < 256 ? 8 : 2 * k_.rows);
  }

  /// Whether the right operand is best read where it is.
  bool in_place() const {
    if (call_.panel > 0) return k_.masks || call_.panel % k_.lanes == 0;
    if (call_.right_column != 1) return false;
    if (call_.rows <= 2 * k_.rows) return true;
    // Beyond that it must stay in the second cache from one tile of rows to the next, or be copied to where it does.
    const int64_t bytes = call_.depth * call_.columns * bytes_;
    const int64_t cache = cache_sizes().second;
    if (call_.rows <= 8 * k_.rows) return bytes <= cache + cache / 4;
    return bytes <= cache / 2 && !collides(call_.right_depth * bytes_);
  }

  /// `rows` of the left operand by `columns` contiguous columns.
  void strip(int64_t rows, const std::byte* left, const std::byte* right, std::byte* tile, int64_t columns) {
    for (int64_t tiles = blocks(rows, k_.rows); tiles > 0; --tiles) {
      const int64_t high = rows / tiles;
      span(high, left, right, tile, columns);
      left = at(left, high * steps_.left_row);
      tile = at(tile, high * steps_.tile_row);
      rows -= high;
    }
  }

  /// As many rows as a tile may have, the widest tiles first.
  void span(int64_t rows, const std::byte* left, const std::byte* right, std::byte* tile, int64_t columns) {
    const auto& tiles = k_.tiles[static_cast<size_t>(rows)];
    const ProductKernels::Tile* each = &tiles[static_cast<size_t>(k_.widths[static_cast<size_t>(rows)]) - 1];
    while (each->vectors * k_.lanes > widest_) {
      --each;
    }
    while (columns > 0) {
      const int64_t full = int64_t{each->vectors} * k_.lanes;
      if (columns >= full) {
        each->full(left, right, tile, full, &steps_);
        columns -= full;
        right = at(right, full * bytes_);
        tile = at(tile, full * bytes_);
      } else if (each->part != nullptr && columns > full - k_.lanes) {
        each->part(left, right, tile, columns, &steps_);
        return;
      } else {
        --each;
      }
    }
  }

  void dots() {
    steps_.depth = call_.depth;
    steps_.accumulate = call_.accumulate;
    steps_.right_depth = call_.right_column * bytes_;
    constexpr int64_t kColumns = 8;  // whose right operand stays in cache from rows to rows
    for (int64_t first = 0; first < call_.columns; first += kColumns) {
      const int64_t columns = std::min(kColumns, call_.columns - first);
      for (int64_t row = 0; row < call_.rows; row += ProductKernels::kDotRows) {
        const int64_t rows = std::min<int64_t>(ProductKernels::kDotRows, call_.rows - row);
        const ProductKernels::Dot& dot = k_.dots[static_cast<size_t>(rows)];
        const std::byte* const left = at(call_.left, row * steps_.left_row);
        for (int64_t column = 0; column < columns;) {
          const bool several = columns - column >= dot.columns;
          (several ? dot.several : dot.one)(left, at(call_.right, (first + column) * steps_.right_depth),
                                            at(call_.tile, row * steps_.tile_row + (first + column) * bytes_), 0,
                                            &steps_);
          column += several ? dot.columns : 1;
        }
      }
    }
  }

  /// Columns [first, first + columns) by way of panels in scratch.
  void packed(int64_t first, int64_t columns) {
    const bool pack_left = call_.left_depth != 1 && call_.rows > k_.rows && columns > 2 * k_.panel;
    // Long blocks of depth load and store the tile less often. A left operand whose depth is not contiguous is read
    // badly over long ones.
    const int64_t depth_block =
        balanced(call_.depth, pack_left ? cache_sizes().first * 2 / 3 / (k_.panel * bytes_) : kDepthBlock, 4);
    const int64_t column_block =
        balanced(columns, (pack_left ? kRightScratch : kProductScratchBytes) / (depth_block * bytes_), k_.panel);
    const int64_t row_block =
        balanced(call_.rows,
                 (pack_left ? kLeftScratch - 64 * depth_block : cache_sizes().second / 8) / (depth_block * bytes_ + 64),
                 k_.rows);
    for (int64_t depth = 0; depth < call_.depth; depth += depth_block) {
      steps_.depth = std::min(depth_block, call_.depth - depth);
      steps_.accumulate = depth > 0 ? 1 : call_.accumulate;
      steps_.right_depth = k_.panel * bytes_;
      for (int64_t column = 0; column < columns; column += column_block) {
        const int64_t width = std::min(column_block, columns - column);
        pack_right(depth, first + column, width);
        for (int64_t row = 0; row < call_.rows; row += row_block) {
          const int64_t rows = std::min(row_block, call_.rows - row);
          const std::byte* left = at(call_.left, (row * call_.left_row + depth * call_.left_depth) * bytes_);
          if (pack_left) left = packed_left(left, rows);
          std::byte* const tile = at(call_.tile, row * steps_.tile_row + (first + column) * bytes_);
          for (int64_t panel = 0; panel < width; panel += k_.panel) {
            strip(rows, left, scratch_ + panel * steps_.depth * bytes_, at(tile, panel * bytes_),
                  std::min<int64_t>(k_.panel, width - panel));
          }
        }
      }
    }
  }

  void pack_right(int64_t depth, int64_t first, int64_t columns) {
    for (int64_t column = 0; column < columns; column += k_.panel) {
      const int64_t width = std::min<int64_t>(k_.panel, columns - column);
      std::byte* const to = scratch_ + column * steps_.depth * bytes_;
      const std::byte* const from =
          at(call_.right, (depth * call_.right_depth + (first + column) * call_.right_column) * bytes_);
      if (call_.panel == 0 && call_.right_column == 1 && (k_.masks || width == k_.panel)) {
        k_.pack_rows(from, call_.right_depth * bytes_, to, width, steps_.depth);
      } else if (call_.panel == 0 && call_.right_depth == 1) {
        const int64_t squares = steps_.depth / k_.lanes * k_.lanes;
        k_.pack_columns(from, call_.right_column * bytes_, to, width, squares);
        pack_elements(depth, first + column, width, squares, to);
      } else {
        pack_elements(depth, first + column, width, 0, to);
      }
    }
  }

  /// One by one, from depth `begin` of the block on.
  void pack_elements(int64_t depth, int64_t first, int64_t columns, int64_t begin, std::byte* to) {
    for (int64_t k = begin; k < steps_.depth; ++k) {
      for (int64_t c = 0; c < columns; ++c) {
        const int64_t column = first + c;
        const int64_t offset = call_.panel > 0 ? column / call_.panel * call_.right_panel + column % call_.panel
                                               : column * call_.right_column;
        std::memcpy(to + (k * k_.panel + c) * bytes_,
                    at(call_.right, ((depth + k) * call_.right_depth + offset) * bytes_), static_cast<size_t>(bytes_));
      }
    }
  }

  /// A copy of `rows` of the left operand, close together. Whatever axis is contiguous stays so.
  const std::byte* packed_left(const std::byte* left, int64_t rows) {
    std::byte* const to = scratch_ + kRightScratch;
    const int64_t row = call_.left_row * bytes_;
    const int64_t depth = call_.left_depth * bytes_;
    if (call_.left_row == 1) {
      steps_.left_row = bytes_;
      steps_.left_depth = rows * bytes_ + (collides(rows * bytes_) ? 64 : 0);
      for (int64_t k = 0; k < steps_.depth; ++k)
        std::memcpy(to + k * steps_.left_depth, at(left, k * depth), static_cast<size_t>(rows * bytes_));
    } else {
      steps_.left_row = steps_.depth * bytes_ + 64;
      steps_.left_depth = bytes_;
      for (int64_t m = 0; m < rows; ++m) {
        if (call_.left_depth == 1) {
          std::memcpy(to + m * steps_.left_row, at(left, m * row), static_cast<size_t>(steps_.depth * bytes_));
        } else {
          for (int64_t k = 0; k < steps_.depth; ++k)
            std::memcpy(to + m * steps_.left_row + k * bytes_, at(left, m * row + k * depth),
                        static_cast<size_t>(bytes_));
        }
      }
    }
    return to;
  }

  static constexpr int64_t kDepthBlock = 1024;
  static constexpr int64_t kRightScratch = int64_t{288} << 10;
  static constexpr int64_t kLeftScratch = kProductScratchBytes - kRightScratch;

  const ProductKernels& k_;
  const ProductCall& call_;
  std::byte* const scratch_;
  int64_t bytes_ = 0;
  int64_t widest_ = 0;  // columns of the widest tile to use
  ProductSteps steps_;
};

}  // namespace

void blocked_product(const ProductKernels& kernels, const ProductTypes& types, const ProductCall& call, void* scratch) {
  if (call.depth == 0) return reference_product(types, call);
  if (call.rows == 0 || call.columns == 0) return;
  Blocked(kernels, types, call, scratch).run();
}

}  // namespace tenon
