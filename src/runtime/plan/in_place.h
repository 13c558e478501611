// Which results may lie where an operand lay.
#pragma once

#include "kernel/program/program.h"

namespace tenon::runtime {

/// Whether a step may write buffer `to` into the memory of buffer `from`, which nobody reads after it: every element of
/// `to` is computed from what lies at its own place in `from`, and nothing there is read once it is written. False when
/// in doubt. Sizes are not looked at, but for the size of an element.
bool runs_in_place(const Program& program, const Step& step, int from, int to);

}  // namespace tenon::runtime
