// How much there is to do: what decides whether a loop is worth several threads, and into how many chunks it falls.
#pragma once

#include "kernel/loop.h"

namespace tenon::runtime {

/// One grid iteration of a phase, in units of about one cheap operation on one element.
Extent work(const loop::Kernel& kernel, const loop::Phase& phase);

/// It computes nothing: every value is an element of a buffer, at a position that no data decides.
bool is_copy(const loop::Kernel& kernel);

}  // namespace tenon::runtime
