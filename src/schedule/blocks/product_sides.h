// The sides of a product, for blocks of threads: rows and columns of a tile, and the depth.
#pragma once

#include <algorithm>
#include <vector>

#include "kernel/loop/loop.h"
#include "schedule/draft/affine.h"

namespace tenon::schedule {

/// Several axes as if they were one, which counts as they do.
struct Joined {
  /// Where index + counter * tile >= size, there is nothing.
  struct Cut {
    int counter = -1;  // an axis that counts tiles
    Extent tile, size;
  };
  Extent extent = 1;
  std::vector<Cut> cuts;
};

/// Tiles inside of other axes are whole, or these run once.
Joined joined(const loops::Kernel& kernel, const std::vector<int>& axes);

/// Where `index`, which runs in pieces of so many, lies inside of all. 0: it may run in any pieces.
std::vector<loops::Bound> bounds_of(const Joined& all, const loops::Affine& index, int64_t piece);

/// How the threads of a warp have sums where instructions on matrices make them: `second` steps apart in pairs, pairs
/// `group` apart, and threads `apart` of each other. A warp has all sums of its threads side by side.
struct WarpOrder {
  int64_t threads = 0;  // of a warp, along the side
  int64_t apart = 0, second = 0, group = 0;
};
inline constexpr WarpOrder kWarpRows = {.threads = 8, .apart = 1, .second = 8, .group = 16};
inline constexpr WarpOrder kWarpColumns = {.threads = 4, .apart = 2, .second = 1, .group = 8};

/// One side of the tile, worked on in pieces: so many threads along a piece, each with several sums, some side by side.
struct Side {
  static constexpr int64_t kTogether = 4;  // sums of a thread side by side: an access of 16 bytes of f32

  Joined all;
  int64_t threads = 1;
  int64_t sums = 1;
  int step = -1;  // axes: of pieces
  int thread = -1;
  int warp = -1;  // with `order`: of the warps along a piece; `thread` is then of a warp's threads
  const WarpOrder* order = nullptr;

  int64_t piece() const { return threads * sums; }
  /// Of a sum, within its piece.
  loops::Affine within(int64_t sum) const {
    if (order != nullptr) {
      const loops::Affine first =
          add(scale(affine_axis(warp), order->group * sums / 2), scale(affine_axis(thread), order->apart));
      return add(first, affine_constant(sum / 2 * order->group + sum % 2 * order->second));
    }
    const int64_t together = std::min(sums, kTogether);
    const int64_t group = sum / together;
    return add(scale(affine_axis(thread), together), affine_constant(group * threads * together + sum % together));
  }
  loops::Affine at(const loops::Affine& inside) const { return add(scale(affine_axis(step), piece()), inside); }
};

}  // namespace tenon::schedule
