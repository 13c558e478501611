// How much there is to do: what decides whether a loop is worth several threads, and into how many chunks it falls.
#pragma once

#include "kernel/loop.h"

namespace tenon::runtime {

/// One grid iteration of a phase, in units of about one cheap operation on one element.
Extent work(const loops::Kernel& kernel, const loops::Phase& phase);

/// It computes nothing: every value is an element of a buffer, at a position that no data decides.
bool is_copy(const loops::Kernel& kernel);

}  // namespace tenon::runtime
