#include "schedule/options/product_tiles.h"

#include <algorithm>
#include <cmath>

#include "kernel/product/product.h"
#include "kernel/program/program.h"

namespace tenon::schedule {
namespace {

/// Less than any second cache has: tiles would be too small to be worth the call.
constexpr int64_t kLeastCache = int64_t{128} << 10;

}  // namespace

ProductTiles product_tiles(int64_t second_cache) {
  const int64_t bytes = std::min(std::max(second_cache, kLeastCache) / 4, kMostScratch - kProductScratchBytes);
  const int64_t elements = bytes / static_cast<int64_t>(sizeof(float));
  const int64_t tile = elements * 3 / 8;
  const int64_t operand = elements * 5 / 16;
  ProductTiles tiles;
  const double side = std::sqrt(static_cast<double>(tile) * 4 / 3);
  tiles.columns = kColumnMultiple * std::max<int64_t>(1, std::lround(side / kColumnMultiple));
  tiles.rows = tile / tiles.columns;
  tiles.rows_of_many = tiles.columns / 4;
  tiles.rows_of_stored = tiles.columns;
  tiles.depth = operand / tiles.columns;
  tiles.depth_of_packed = tiles.columns * 9 / 4;
  tiles.tile_elements = elements / 4;
  tiles.stored_elements = 2 * operand;
  tiles.streamed_elements = tile;
  tiles.streamed_block = tiles.columns;
  tiles.streamed_with_block = 2 * operand - 10 * tiles.rows;  // a row keeps some numbers of its own
  tiles.winograd_elements =
      std::min(std::max(second_cache, kLeastCache) / 2, kMostScratch) / static_cast<int64_t>(sizeof(float));
  return tiles;
}

}  // namespace tenon::schedule
