// Sizes cut into nearly equal ones.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tenon {

inline int64_t blocks(int64_t size, int64_t block) { return (size + block - 1) / block; }

/// The least blocks of at most `limit`, all alike, in multiples of `unit`.
inline int64_t balanced(int64_t size, int64_t limit, int64_t unit) {
  return blocks(blocks(size, blocks(size, std::max(limit / unit * unit, unit))), unit) * unit;
}

/// Rows in tiles that are all nearly as high.
struct Heights {
  int64_t tiles = 1;
  int64_t rows = 0;    // of a tile;
  int64_t higher = 0;  // so many, the last ones, have one more
};

inline Heights even_heights(int64_t rows, int64_t most) {
  if (rows <= most) return {.rows = rows};
  const int64_t tiles = blocks(rows, most);
  const int64_t each = rows / tiles;
  return {.tiles = tiles, .rows = each, .higher = rows - each * tiles};
}

}  // namespace tenon
