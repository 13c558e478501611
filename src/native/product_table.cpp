#include "native/product_table.h"

#include <iterator>
#include <vector>

namespace tenon::codegen {
namespace {

size_t count_kernels(const ProductShape& shape) {
  size_t count = 3 + std::size(kProductPanels) + 2 * shape.dot_columns.size() + static_cast<size_t>(shape.pair_rows);
  for (const std::vector<int>& widths : shape.widths) {
    count += 2 * widths.size();
  }
  return count;
}

/// The kernels of a shape, whose addresses begin at `next`.
ProductKernels kernels_at(void**& next, const ProductShape& shape, const ProductTypes& types,
                          const ProductCaches& caches) {
  const auto bytes = [](Dtype dtype) { return static_cast<int>(byte_size(dtype)); };
  ProductKernels kernels{.lanes = shape.lanes,
                         .rows = shape.rows,
                         .tall_rows = static_cast<int>(shape.widths.size()) - 1,
                         .panel = shape.lanes * shape.vectors,
                         .masks = shape.masks,
                         .step = shape.step,
                         .flips = shape.flips,
                         .left_bytes = bytes(shape.left),
                         .right_bytes = bytes(shape.right),
                         .caches = caches,
                         .pair_rows = shape.pair_rows};
  kernels.pack_rows = reinterpret_cast<ProductPack>(*next++);
  kernels.pack_columns = reinterpret_cast<ProductPack>(*next++);
  const auto pack_left = reinterpret_cast<ProductPack>(*next++);
  if (shape.left != types.left || shape.step > 1) kernels.pack_left = pack_left;
  for (size_t rows = 1; rows < shape.widths.size(); ++rows) {
    for (const int vectors : shape.widths[rows]) {
      const auto full = reinterpret_cast<ProductMicro>(*next++);
      const auto part = reinterpret_cast<ProductMicro>(*next++);
      kernels.tiles[rows][static_cast<size_t>(kernels.widths[rows]++)] = {vectors, full != nullptr ? full : part, part};
    }
  }
  for (size_t rows = 1; rows < shape.dot_columns.size(); ++rows) {
    const auto several = reinterpret_cast<ProductMicro>(*next++);
    const auto one = reinterpret_cast<ProductMicro>(*next++);
    kernels.dots[rows] = {shape.dot_columns[rows], several, one};
  }
  for (const int panels : kProductPanels) {
    kernels.panels[static_cast<size_t>(panels)] = reinterpret_cast<ProductMicro>(*next++);
  }
  for (int rows = 1; rows <= shape.pair_rows; ++rows) {
    kernels.pairs[static_cast<size_t>(rows)] = reinterpret_cast<ProductMicro>(*next++);
  }
  return kernels;
}

}  // namespace

ProductKernels product_table(const ProductTypes& types, const Target& target, const ProductCaches& caches,
                             const std::function<void(void** addresses)>& hand_out) {
  constexpr size_t kOfMatrixUnit = 6;
  const ProductShape shape = product_shape(types, target);
  const ProductShape squares = float_squares_shape(types, target);
  std::vector<void*> addresses(count_kernels(shape) + count_kernels(squares) + kOfMatrixUnit);
  hand_out(addresses.data());

  void** next = addresses.data();
  ProductKernels kernels = kernels_at(next, shape, types, caches);
  if (has_float_squares(types, target)) kernels.of_many_rows.push_back(kernels_at(next, squares, types, caches));
  if (has_matrix_unit(types, target)) {
    kernels.matrix.begin = reinterpret_cast<void (*)()>(*next++);
    kernels.matrix.end = reinterpret_cast<void (*)()>(*next++);
    kernels.matrix.tiles[1] = reinterpret_cast<ProductMicro>(*next++);
    kernels.matrix.tiles[2] = reinterpret_cast<ProductMicro>(*next++);
    kernels.matrix.pack_rows = reinterpret_cast<ProductPack>(*next++);
    kernels.matrix.pack_columns = reinterpret_cast<ProductPack>(*next++);
    kernels.matrix.step = matrix_shape(types, target).step;
  }
  return kernels;
}

}  // namespace tenon::codegen
