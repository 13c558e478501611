#include "kernel/product/product_packing.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace tenon {
namespace {

constexpr int64_t kRowsAtOnce = 16;  // that are packed into all panels of a block, so that each is read in one run

}  // namespace

ProductPacking::ProductPacking(const ProductKernels& kernels, const ProductTypes& types, const ProductCall& call)
    : k_(kernels),
      types_(types),
      call_(call),
      left_bytes_(static_cast<int64_t>(byte_size(types.left))),
      right_bytes_(static_cast<int64_t>(byte_size(types.right))) {}

const std::byte* ProductPacking::right_at(int64_t depth, int64_t column) const {
  return at(call_.right, right_offset(call_, depth, column) * right_bytes_);
}

int64_t ProductPacking::panel_bytes(int64_t depth) const { return k_.panel * whole_steps(depth) * k_.right_bytes; }

void ProductPacking::pack_right(int64_t begin, int64_t depth, int64_t first, int64_t width, std::byte* to) const {
  const bool in_runs = call_.panel == 0 && call_.right_column == 1;
  const int64_t rows = in_runs ? kRowsAtOnce : depth;
  for (int64_t k = 0; k < depth; k += rows) {
    std::byte* panel = to + k * k_.panel * k_.right_bytes;
    for (int64_t column = 0; column < width; column += k_.panel) {
      pack_panel(begin + k, std::min(rows, depth - k), first + column, std::min<int64_t>(k_.panel, width - column),
                 panel);
      panel += panel_bytes(depth);
    }
  }
}

void ProductPacking::pack_panel(int64_t begin, int64_t depth, int64_t first, int64_t columns, std::byte* to) const {
  const std::byte* const from = right_at(begin, first);
  int64_t done = 0;
  if (call_.panel == 0 && call_.right_column == 1 && (k_.masks || columns == k_.panel)) {
    done = depth / k_.step * k_.step;
    k_.pack_rows(from, call_.right_depth * right_bytes_, to, columns, done);
  } else if (call_.panel == 0 && call_.right_depth == 1) {
    const int64_t square = int64_t{k_.lanes} * k_.step;
    done = depth / square * square;
    k_.pack_columns(from, call_.right_column * right_bytes_, to, columns, done);
  }
  for (int64_t k = done; k < whole_steps(depth); ++k) {
    for (int64_t c = 0; c < columns; ++c) {
      std::byte* const place = to + ((k / k_.step * k_.panel + c) * k_.step + k % k_.step) * k_.right_bytes;
      if (k < depth) {
        copy_element(right_at(begin + k, first + c), place);
      } else {
        std::memset(place, 0, static_cast<size_t>(k_.right_bytes));
      }
    }
  }
}

/// Integers may be wider in panels.
void ProductPacking::copy_element(const std::byte* from, std::byte* to) const {
  if (k_.right_bytes == right_bytes_) {
    std::memcpy(to, from, static_cast<size_t>(right_bytes_));
    return;
  }
  const bool negative = types_.right == Dtype::i8 && (*from & std::byte{0x80}) != std::byte{0};
  std::memset(to, negative ? 0xff : 0, static_cast<size_t>(k_.right_bytes));
  *to = *from;
}

void ProductPacking::pack_left(int64_t row, int64_t rows, int64_t begin, int64_t depth, std::byte* to,
                               ProductSteps& steps) const {
  const std::byte* const from = at(call_.left, (row * call_.left_row + begin * call_.left_depth) * left_bytes_);
  if (k_.pack_left == nullptr && call_.left_row == 1) {  // what is contiguous stays so
    steps.left_row = left_bytes_;
    steps.left_depth = rows * left_bytes_ + (collides(rows * left_bytes_) ? 64 : 0);
    for (int64_t k = 0; k < depth; ++k) {
      std::memcpy(to + k * steps.left_depth, at(from, k * call_.left_depth * left_bytes_),
                  static_cast<size_t>(rows * left_bytes_));
    }
    return;
  }
  steps.left_row = (whole_steps(depth) * k_.left_bytes + 127) / 64 * 64;
  steps.left_depth = int64_t{k_.left_bytes} * k_.step;
  if (call_.left_row == 1 && k_.left_bytes == 1 && k_.step % kBytesTogether == 0) {
    pack_left_columns(from, rows, depth, to, steps.left_row);
    return;
  }
  for (int64_t m = 0; m < rows; ++m) {
    pack_left_row(at(from, m * call_.left_row * left_bytes_), depth, to + m * steps.left_row);
  }
}

void ProductPacking::pack_left_columns(const std::byte* from, int64_t rows, int64_t depth, std::byte* to,
                                       int64_t stride) const {
  const uint32_t turned = k_.flips ? 0x80808080U : 0;
  for (int64_t k = 0; k < depth; k += kBytesTogether) {
    // Steps beyond the last meet zeros: any of them will do.
    const auto step = [&](int64_t i) { return at(from, std::min(k + i, depth - 1) * call_.left_depth); };
    const std::byte* const a = step(0);
    const std::byte* const b = step(1);
    const std::byte* const c = step(2);
    const std::byte* const d = step(3);
    for (int64_t m = 0; m < rows; ++m) {
      const std::array<std::byte, kBytesTogether> together = {a[m], b[m], c[m], d[m]};
      const uint32_t word = std::bit_cast<uint32_t>(together) ^ turned;
      std::memcpy(to + m * stride + k, &word, sizeof word);
    }
  }
}

void ProductPacking::pack_left_row(const std::byte* from, int64_t depth, std::byte* to) const {
  alignas(64) std::byte gathered[kMostDepth * sizeof(double)];
  if (call_.left_depth != 1) {
    std::byte* const row = k_.pack_left == nullptr ? to : gathered;
    for (int64_t k = 0; k < depth; ++k) {
      std::memcpy(row + k * left_bytes_, at(from, k * call_.left_depth * left_bytes_),
                  static_cast<size_t>(left_bytes_));
    }
    from = row;
  }
  if (k_.pack_left != nullptr) {
    k_.pack_left(from, 0, to, depth, 1);
    std::memset(to + depth * k_.left_bytes, 0, static_cast<size_t>((whole_steps(depth) - depth) * k_.left_bytes));
  } else if (from != to) {
    std::memcpy(to, from, static_cast<size_t>(depth * left_bytes_));
  }
}

const std::byte* FlippedBytes::zeros() {
  alignas(64) static constexpr auto row = [] {
    std::array<std::byte, ProductPacking::kMostDepth> bytes = {};
    bytes.fill(std::byte{0x80});
    return bytes;
  }();
  return row.data();
}

void FlippedBytes::subtract(int64_t rows, int64_t columns, std::byte* tile, int64_t stride, bool accumulate) const {
  for (int64_t m = 0; m < rows; ++m) {
    auto* const row = reinterpret_cast<uint32_t*>(tile + m * stride);
    for (int64_t n = 0; n < columns; ++n) {
      row[n] = (accumulate ? row[n] : 0) - excess_[static_cast<size_t>(n)];
    }
  }
}

}  // namespace tenon
