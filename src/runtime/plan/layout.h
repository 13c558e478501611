// Where the intermediates of a specialization lie.
#pragma once

#include "runtime/plan/specialization.h"
#include "runtime/plan/waves.h"

namespace tenon::runtime {

/// Fill in offsets and memory. Slots live from the first wave that uses them to the last; a slot takes over the memory
/// of another in place where the plan allows it and the sizes agree. Errors: a negative size, more than the machine's
/// memory.
void lay_out(const Program& program, const Plan& plan, const Waves& waves, Specialization& s);

/// TENON_CHECK that no step of a stage writes where another of the same stage reads or writes, by what they declare and
/// where it lies.
void check_races(const Program& program, const Plan& plan, const Specialization& s);

}  // namespace tenon::runtime
