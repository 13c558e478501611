#include "kernel/product/product_matrix.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace tenon {
namespace {

constexpr int64_t kMatrixLeftScratch = int64_t{96} << 10;
constexpr int64_t kMatrixRightScratch = kProductScratchBytes - kMatrixLeftScratch;
constexpr int64_t kDepthBytes = 2048;  // of a row, in one block
constexpr int64_t kRowBlock = 256;     // whose left operand stays in the second cache

class Matrix {
 public:
  static constexpr int64_t kRows = MatrixKernels::kRows;
  static constexpr int64_t kColumns = MatrixKernels::kColumns;
  static constexpr int64_t kTileBytes = 4;  // f32 and i32

  Matrix(const MatrixKernels& kernels, const ProductTypes& types, const ProductCall& call, void* scratch)
      : k_(kernels),
        call_(call),
        bytes_(static_cast<int64_t>(byte_size(types.left))),
        left_scratch_(static_cast<std::byte*>(scratch)),
        right_scratch_(left_scratch_ + kMatrixLeftScratch) {}

  void run() {
    const int64_t depth_block = kDepthBytes / bytes_;
    steps_.right_depth = kColumns * k_.step * bytes_;
    for (int64_t depth = 0; depth < call_.depth; depth += depth_block) {
      depth_ = std::min(depth_block, call_.depth - depth);
      steps_.depth = (depth_ * bytes_ + MatrixKernels::kStepBytes - 1) / MatrixKernels::kStepBytes;
      accumulate_ = depth > 0 || call_.accumulate != 0;
      const bool packs_left = call_.left_depth != 1 || depth_ * bytes_ != steps_.depth * MatrixKernels::kStepBytes;
      const int64_t panel_bytes = steps_.depth * MatrixKernels::kStepBytes * kColumns;
      const int64_t column_block = kMatrixRightScratch / panel_bytes * kColumns;
      const int64_t row_block = packs_left ? 2 * kRows : kRowBlock;
      for (int64_t column = 0; column < call_.columns; column += column_block) {
        const int64_t columns = std::min(column_block, call_.columns - column);
        for (int64_t row = 0; row < call_.rows; row += row_block) {
          const int64_t rows = std::min(row_block, call_.rows - row);
          copy_left(row, rows, depth, packs_left);
          for (int64_t panel = 0; panel < columns; panel += kColumns) {
            const int64_t width = std::min(kColumns, columns - panel);
            std::byte* const packed = right_scratch_ + panel / kColumns * panel_bytes;
            const bool as_it_lies = in_panels() && depth_ % MatrixKernels::kStepBytes == 0;
            if (row == 0 && !as_it_lies) pack_panel(depth, column + panel, width, packed);
            strip(row, rows, as_it_lies ? right_at(depth, column + panel) : packed, column + panel, width);
          }
        }
      }
    }
  }

 private:
  /// The rows in scratch are those at the end that do not fill a tile, or all of them.
  void copy_left(int64_t row, int64_t rows, int64_t depth, bool all) {
    const int64_t rest = rows % (2 * kRows);
    copied_ = all ? rows : rest == kRows ? 0 : rest;
    left_ = at(call_.left, (row * call_.left_row + depth * call_.left_depth) * bytes_);
    const int64_t stride = copied_stride();
    for (int64_t m = 0; m < copied_; ++m) {
      const std::byte* const from = at(left_, (rows - copied_ + m) * call_.left_row * bytes_);
      std::byte* const to = left_scratch_ + m * stride;
      if (call_.left_depth == 1) {
        std::memcpy(to, from, static_cast<size_t>(depth_ * bytes_));
      } else {
        for (int64_t k = 0; k < depth_; ++k) {
          std::memcpy(to + k * bytes_, at(from, k * call_.left_depth * bytes_), static_cast<size_t>(bytes_));
        }
      }
      const int64_t padded = steps_.depth * MatrixKernels::kStepBytes;
      std::memset(to + depth_ * bytes_, 0, static_cast<size_t>(padded - depth_ * bytes_));
    }
  }

  int64_t copied_stride() const { return (steps_.depth + 1) * MatrixKernels::kStepBytes; }

  const std::byte* right_at(int64_t depth, int64_t column) const {
    return at(call_.right, right_offset(call_, depth, column) * bytes_);
  }

  /// Whether the right operand lies in panels as tiles read them, but for the end of the last step.
  bool in_panels() const { return call_.panel == kColumns && call_.together == k_.step && bytes_ == 1; }

  void pack_panel(int64_t depth, int64_t first, int64_t columns, std::byte* to) {
    int64_t done = 0;
    if (in_panels()) {
      done = (depth_ + k_.step - 1) / k_.step * k_.step;
      std::memcpy(to, right_at(depth, first), static_cast<size_t>(done * kColumns));
    } else if (call_.panel == 0 && call_.right_column == 1) {
      done = depth_ / k_.step * k_.step;
      k_.pack_rows(right_at(depth, first), call_.right_depth * bytes_, to, columns, done);
    } else if (call_.panel == 0 && call_.right_depth == 1) {
      const int64_t square = int64_t{kRows} * k_.step;
      done = depth_ / square * square;
      k_.pack_columns(right_at(depth, first), call_.right_column * bytes_, to, columns, done);
    }
    const int64_t row_bytes = kColumns * bytes_;  // of the panel, for each element of depth
    std::memset(to + done * row_bytes, 0,
                static_cast<size_t>(steps_.depth * MatrixKernels::kStepBytes * kColumns - done * row_bytes));
    for (int64_t k = done; k < depth_; ++k) {
      for (int64_t c = 0; c < columns; ++c) {
        std::memcpy(to + ((k / k_.step * kColumns + c) * k_.step + k % k_.step) * bytes_,
                    right_at(depth + k, first + c), static_cast<size_t>(bytes_));
      }
    }
  }

  void strip(int64_t row, int64_t rows, const std::byte* right, int64_t column, int64_t width) {
    for (int64_t m = 0; m < rows; m += 2 * kRows) {
      const int64_t left_over = rows - m;
      const int64_t high = left_over > kRows ? 2 : 1;
      const int64_t count = std::min(left_over, high * kRows);
      const bool copied = m >= rows - copied_;
      steps_.left_row = copied ? copied_stride() : call_.left_row * bytes_;
      const std::byte* const left =
          copied ? left_scratch_ + (m - (rows - copied_)) * copied_stride() : at(left_, m * call_.left_row * bytes_);
      std::byte* const tile = at(call_.tile, ((row + m) * call_.tile_row + column) * kTileBytes);
      multiply(high, left, right, tile, count, width);
    }
  }

  /// Tiles that are not whole go by way of a copy.
  void multiply(int64_t high, const std::byte* left, const std::byte* right, std::byte* tile, int64_t rows,
                int64_t columns) {
    const ProductMicro kernel = k_.tiles[static_cast<size_t>(high)];
    const int64_t tile_row = call_.tile_row * kTileBytes;
    steps_.accumulate = accumulate_ ? 1 : 0;
    if (rows == high * kRows && columns == kColumns) {
      steps_.tile_row = tile_row;
      kernel(left, right, tile, kColumns, &steps_);
      return;
    }
    alignas(64) std::byte copy[2 * kRows * kColumns * kTileBytes];
    steps_.tile_row = kColumns * kTileBytes;
    const auto bytes = static_cast<size_t>(columns * kTileBytes);
    for (int64_t m = 0; m < rows && accumulate_; ++m) {
      std::memcpy(copy + m * steps_.tile_row, tile + m * tile_row, bytes);
    }
    kernel(left, right, copy, kColumns, &steps_);
    for (int64_t m = 0; m < rows; ++m) {
      std::memcpy(tile + m * tile_row, copy + m * steps_.tile_row, bytes);
    }
  }

  const MatrixKernels& k_;
  const ProductCall& call_;
  const int64_t bytes_;  // of an element of either operand
  std::byte* const left_scratch_;
  std::byte* const right_scratch_;
  const std::byte* left_ = nullptr;
  int64_t copied_ = 0;
  int64_t depth_ = 0;
  bool accumulate_ = false;
  ProductSteps steps_;
};

}  // namespace

void matrix_product(const MatrixKernels& kernels, const ProductTypes& types, const ProductCall& call, void* scratch) {
  kernels.begin();
  Matrix(kernels, types, call, scratch).run();
  kernels.end();
}

}  // namespace tenon
