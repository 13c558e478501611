// How much there is to do: what decides whether a loop is worth several threads, and into how many chunks it falls.
#pragma once

#include "kernel/loop/loop.h"

namespace tenon::loops {

/// One grid iteration of a phase, in operations on a byte, four of which are a unit (kernel_facts.h): PhaseFacts::work.
Extent work(const Kernel& kernel, const Phase& phase);

/// It computes nothing: every value is an element of a buffer, at a position that no data decides.
bool is_copy(const Kernel& kernel);

}  // namespace tenon::loops
