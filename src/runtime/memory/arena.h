// Where intermediates lie in the one block of memory of a run.
#pragma once

#include <cstdint>
#include <span>

namespace tenon::runtime {

inline constexpr int64_t kArenaAlignment = 64;

/// The next offset that is aligned, from so many bytes on.
constexpr int64_t aligned(int64_t bytes) { return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment; }

/// Memory that is in use from time `first` to time `last`, both included.
struct Block {
  int64_t bytes = 0;
  int first = 0;
  int last = 0;
};

struct Arena {
  int64_t bytes = 0;  // of the whole
  int64_t live = 0;   // the most that are in use at one time
};

/// Give each block an aligned offset so that no two that are in use at one time overlap. Blocks are placed one after
/// the other, each at the lowest place that is free, the largest first; where that wastes memory, other orders are
/// tried. Error when they do not fit in 64 bits.
Arena place(std::span<const Block> blocks, std::span<int64_t> offsets);

}  // namespace tenon::runtime
