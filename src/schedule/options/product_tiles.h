// How large the tiles of products are, for a machine's caches.
#pragma once

#include <cstdint>

namespace tenon::schedule {

/// Columns of tiles are multiples of this: of the widest vectors.
inline constexpr int64_t kColumnMultiple = 32;

/// Counts of f32. All tiles of a kernel, and blocks of operands that must be stored for it, share a quarter of the
/// second cache: the products' own scratch, and what they read, have the rest. Never more than half of kMostScratch,
/// which products leave. Products of Winograd's form need no scratch of their own: their blocks have half of the cache.
struct ProductTiles {
  int64_t rows = 0, columns = 0;    // of a tile: 3 to 4, so that each element of both operands is used often
  int64_t rows_of_many = 0;         // where a kernel has several products
  int64_t rows_of_stored = 0;       // where the other side is stored again for each of them
  int64_t depth = 0;                // steps of k of operands that are stored first
  int64_t depth_of_packed = 0;      // likewise beside panels, where nothing but the left side is stored
  int64_t tile_elements = 0;        // of a tile one side of which is whole
  int64_t stored_elements = 0;      // of a left side beside panels
  int64_t streamed_elements = 0;    // of the second tile where rows are taken in blocks: stream_products.h
  int64_t streamed_block = 0;       // of such a row
  int64_t streamed_with_block = 0;  // of everything that grows with the block
  int64_t winograd_elements = 0;    // of all that a block of winograd.h keeps

  friend bool operator==(const ProductTiles&, const ProductTiles&) = default;
};

/// Of a Machine::second_cache.
ProductTiles product_tiles(int64_t second_cache);

/// Enough for the largest.
inline constexpr int64_t kUsualSecondCache = int64_t{2} << 20;

}  // namespace tenon::schedule
