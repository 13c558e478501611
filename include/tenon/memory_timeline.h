// The memory of a run from its first step to its last: what lies where in the arena, and when.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tenon/bindings.h"
#include "tenon/executable.h"
#include "tenon/extent.h"
#include "tenon/run_report.h"

namespace tenon {

/// What a stretch of the arena holds.
enum class MemoryUse : uint8_t {
  value,   ///< a result that later steps read, or sums of one step that its phases hand on
  window,  ///< the rows between steps that run tile by tile, for all threads
  bodies,  ///< what runs inside of a loop or a conditional
};

/// A stretch of the arena from the moment that it is written first to the moment that it is read last.
struct MemoryBlock {
  MemoryUse use = MemoryUse::value;
  int64_t offset = 0;  ///< in the arena of its segment
  int64_t bytes = 0;
  Extent size = 0;  ///< the same as an expression of the axes; of a window, the number
  int first_moment = 0;
  int last_moment = 0;
  int made_by = 0;   ///< the step that writes it first, of Executable::steps(), counted from 0
  int last_use = 0;  ///< the last step during which it is in use, by it or by a result that took its place
};

/// Steps that run at the same time: one, several side by side, or those of a region.
struct MemoryMoment {
  std::vector<int> steps;  ///< of Executable::steps(), counted from 0
  int64_t live_bytes = 0;  ///< of all blocks that are in use
};

struct MemoryTimeline {
  MemoryReport memory;              ///< Executable::memory() at these sizes
  int64_t untiled_arena_bytes = 0;  ///< what the arena would take if every step ran whole
  int64_t constant_bytes = 0;       ///< weights and other constants, as kernels read them
  int64_t code_bytes = 0;           ///< of kernels that were compiled for the program
  std::vector<MemoryMoment> moments;
  std::vector<MemoryBlock> blocks;

  /// The first moment at which most is in use; 0 where there is none.
  size_t peak() const;
  /// What is in use at a moment, the largest first.
  std::vector<MemoryBlock> at(size_t moment) const;
  /// The bytes in use at the peak as an expression of the axes: exact at these sizes, and at others at which the same
  /// step is the peak and the same results take the place of operands. Windows enter as their bytes here.
  Extent peak_size() const;
};

/// Where memory goes at these sizes. Errors: those of Executable::memory().
MemoryTimeline memory_timeline(const Executable& executable, const Bindings& bindings);

}  // namespace tenon
