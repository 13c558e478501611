// Where the intermediates of a specialization lie.
#pragma once

#include <vector>

#include "runtime/memory/arena.h"
#include "runtime/plan/specialization.h"
#include "runtime/plan/waves.h"

namespace tenon::runtime {

/// Fill in offsets and memory. Slots live from the first wave that uses them to the last; a slot takes over the memory
/// of another in place where the plan allows it and the sizes agree. Errors: a negative size, more than the machine's
/// memory.
void lay_out(const Program& program, const Plan& plan, const Waves& waves, Specialization& s);

/// A stretch of the arena: of a slot, of the windows of a region, or, where it is neither, of the bodies of a step.
struct ArenaBlock {
  int slot = -1;
  int region = -1;  // of Specialization::regions
  int step = -1;    // with bodies
  int64_t offset = 0;
  Block block = {};  // from the first wave that uses it to the last, with what takes its place in place
};

/// What lay_out() decided for `s`, in full. `s` is laid out again on the way.
std::vector<ArenaBlock> arena_blocks(const Program& program, const Plan& plan, const Waves& waves, Specialization& s);

/// TENON_CHECK that no step of a stage writes where another of the same stage reads or writes, by what they declare and
/// where it lies.
void check_races(const Program& program, const Plan& plan, const Specialization& s);

}  // namespace tenon::runtime
