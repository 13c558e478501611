// Which lines of memory a kernel fetches before it needs them.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "kernel/loop/loop.h"

namespace tenon::codegen {

/// Fetch the lines that lie `ahead` elements past those of an access. The code keeps the distance within limits: 0 is
/// the least that helps.
struct Prefetch {
  int buffer = 0;
  loops::Affine at;
  Extent ahead;
  /// Rows that lie apart have so many elements, and what is between them is not needed: `ahead` is from row to row, and
  /// the code fetches as many rows ahead as make up the least distance.
  std::optional<Extent> apart = {};
  /// Where the loop around that takes the lanes from row to row has a single iteration, what comes next lies elsewhere.
  struct SingleRow {
    Extent iterations;  // of the loop around
    Extent ahead;       // where they are 1

    friend bool operator==(const SingleRow&, const SingleRow&) = default;
  };
  std::optional<SingleRow> single = {};
  bool writes = false;
  /// Of the row that the loop runs over, cut into equal parts, those that a whole run of the loop fetches.
  int first_part = 0;
  int share = 1;  // so many parts, in a row
  int parts = 1;  // of so many

  friend bool operator==(const Prefetch&, const Prefetch&) = default;
};

/// By the loop that fetches, a statement of the kernel.
using PrefetchPlan = std::unordered_map<const loops::Loop*, std::vector<Prefetch>>;

/// Several loops over one row fetch what the next row needs, each a share in proportion to its cost, so that memory is
/// busy while they compute. A loop that is alone fetches some lines ahead, since processors stop at the end of a page;
/// over a tile of a matrix it fetches a row or more ahead, since processors would go on along the row, to what the tile
/// does not have; where a tile is of a single row, along that row.
///   before: loop j { max= x[i, j] }   loop j { sum= exp(x[i, j] - max) }
///   after:  loop j { max= x[i, j], prefetch x[i + 1, j / 4] }
///           loop j { sum= exp(x[i, j] - max), prefetch x[i + 1, n / 4 + j / 4], ... }
PrefetchPlan plan_prefetches(const loops::Kernel& kernel);

}  // namespace tenon::codegen
