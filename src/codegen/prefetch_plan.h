// What a kernel asks memory for before it is needed.
#pragma once

#include <unordered_map>
#include <vector>

#include "kernel/loop.h"

namespace tenon::codegen {

/// Fetch the lines that lie `ahead` elements past those of an access. Where rows follow each other in memory the code
/// keeps the distance within limits: 0 is the least that helps.
struct Prefetch {
  int buffer = 0;
  loops::Affine at;
  Extent ahead;
  bool apart = false;  // pieces of rows: there is nothing to fetch between them
  bool writes = false;
  /// Of the row that the loop runs over, the one of so many equal parts: a loop's whole run fetches that much.
  int part = 0;
  int parts = 1;

  friend bool operator==(const Prefetch&, const Prefetch&) = default;
};

/// By the loop that fetches, a statement of the kernel.
using PrefetchPlan = std::unordered_map<const loops::Loop*, std::vector<Prefetch>>;

/// Several loops over one row leave memory idle while they compute, and it takes a while to get going at the next row:
/// so they fetch what the next row needs, each in proportion to the time it takes, lest one of them waits for memory
/// while it has nothing to do in the others. A loop on its own fetches a little ahead: processors do that too, but they
/// stop at the end of a page. Over a tile of a matrix it fetches a row or more ahead: the processor would go on along
/// the row, to what is not needed.
///   before: loop j { max= x[i, j] }   loop j { sum= exp(x[i, j] - max) }
///   after:  loop j { max= x[i, j], prefetch x[i + 1, j / 4] }
///           loop j { sum= exp(x[i, j] - max), prefetch x[i + 1, n / 4 + j / 4], ... }
PrefetchPlan plan_prefetches(const loops::Kernel& kernel);

}  // namespace tenon::codegen
