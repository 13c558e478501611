#include "kernel/product/product_one_tile.h"

namespace tenon {
namespace {

/// The tile that a small product is, if it is one: to plan blocks would take longer than it does.
const ProductKernels::Tile* only_tile(const ProductKernels& k, const ProductCall& call) {
  const bool in_order = call.panel > 0 ? call.columns <= call.panel : call.right_column == 1;
  const bool whole = k.masks || call.columns % k.lanes == 0;
  if (k.pack_left != nullptr || !in_order || !whole || call.rows > (call.columns <= k.lanes ? k.tall_rows : k.rows) ||
      call.columns > k.panel || call.depth > kLongestSum || call.depth * call.columns * k.right_bytes > kSmallOperand) {
    return nullptr;
  }
  const auto row = static_cast<size_t>(call.rows);
  for (int i = 0; i < k.widths[row]; ++i) {
    const ProductKernels::Tile& tile = k.tiles[row][static_cast<size_t>(i)];
    if (call.columns <= int64_t{tile.vectors} * k.lanes) {
      return &tile;
    }
  }
  return nullptr;
}

/// Elements of both sides and of the tile are as tiles read them, since nothing is packed.
void run_tile(const ProductKernels& k, const ProductKernels::Tile& tile, const ProductCall& call) {
  const ProductSteps steps{.left_row = call.left_row * k.left_bytes,
                           .left_depth = call.left_depth * k.left_bytes,
                           .right_depth = call.right_depth * k.right_bytes,
                           .tile_row = call.tile_row * k.left_bytes,
                           .depth = call.depth,
                           .accumulate = call.accumulate};
  const bool full = call.columns == int64_t{tile.vectors} * k.lanes;
  (full ? tile.full : tile.part)(call.left, call.right, call.tile, call.columns, &steps);
}

}  // namespace

bool product_of_one_tile(const ProductKernels& kernels, const ProductCall& call) {
  const ProductKernels::Tile* const tile = only_tile(kernels, call);
  if (tile != nullptr) {
    run_tile(kernels, *tile, call);
  }
  return tile != nullptr;
}

}  // namespace tenon
