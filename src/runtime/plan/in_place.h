// Which results may lie where an operand lay.
#pragma once

#include "kernel/program/program.h"

namespace tenon::runtime {

/// Whether a step may write buffer `to` into the memory of buffer `from`, which nobody reads after it: its kernel says
/// that the two may share memory (loops::KernelFacts::may_share), and nothing else in the step uses either; or it is a
/// scatter into what `from` holds. Sizes are not looked at.
bool runs_in_place(const Program& program, const Step& step, int from, int to);

}  // namespace tenon::runtime
