// Where intermediates lie in the one block of memory of a run.
#pragma once

#include <cstdint>
#include <span>

namespace tenon::runtime {

inline constexpr int64_t kArenaAlignment = 64;

/// Memory that is in use from step `first` to step `last`, both included.
struct Block {
  int64_t bytes = 0;
  int first = 0;
  int last = 0;
};

/// Give each block an aligned offset so that no two that are in use at one step overlap: the largest first, each at the
/// lowest place that is free. Returns the bytes of the whole; an Error when they do not fit in 64 bits.
int64_t place(std::span<const Block> blocks, std::span<int64_t> offsets);

}  // namespace tenon::runtime
