// Which threads of a block run a statement.
#pragma once

#include <cstdint>
#include <vector>

#include "kernel/loop/loop.h"

namespace tenon::loops {

/// More than this many threads no block has.
inline constexpr int64_t kMostThreads = 1024;

/// Threads [first, first + count) of a block. A statement inside of all loops bound to threads has one, and one outside
/// of all of them has the whole block.
struct ThreadGroup {
  int64_t first = 0;
  int64_t count = 1;

  /// The group that runs iteration `i` of a loop over `extent` that is bound to threads.
  ThreadGroup inside(int64_t extent, int64_t i) const {
    return {.first = first + i * (count / extent), .count = count / extent};
  }

  friend bool operator==(const ThreadGroup&, const ThreadGroup&) = default;
};

/// How many iterations an axis bound to threads has: of a tile, a whole one.
int64_t thread_extent(const Kernel& kernel, int axis);

/// Threads of a block of a phase: the iterations of a nest of loops bound to threads; 1 where there is none.
int64_t threads_of(const Kernel& kernel, const Phase& phase);
/// The most that a phase has.
int64_t most_threads(const Kernel& kernel);

/// How many iterations of its loops bound to threads a machine may give to one of its threads, side by side: a power of
/// two, so that most accesses of f32 are of 16 bytes. 1 where a phase has nests of several such loops, scratch of
/// threads, loops that may not run or that are tiles of a thread, or no access whose elements lie side by side.
int64_t iterations_of_thread(const Kernel& kernel, const Phase& phase);

/// Bytes of scratch_bytes() that belong to threads: GPUs have these in registers.
Extent private_scratch_bytes(const Kernel& kernel);

/// Whether a phase uses scratch of its blocks.
bool uses_block_scratch(const Kernel& kernel, const Phase& phase);

/// In how many parts an accumulator is that `loop` begins: the iterations of the loops bound to threads from `loop` on
/// to where it is fed.
int64_t parts_of(const Kernel& kernel, const Loop& loop, int accumulator);

}  // namespace tenon::loops
