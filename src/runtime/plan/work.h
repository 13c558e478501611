// How much there is to do: what decides whether a loop is worth several threads, and into how many chunks it falls.
#pragma once

#include "kernel/loop/loop.h"

namespace tenon::runtime {

/// Work is counted in units of one cheap operation on one element of 4 bytes: a vector holds twice as many of 2 bytes.
/// This is a part of a unit.
inline constexpr double kByteOperation = 0.25;
/// On a core with vectors of 512 bits 60 to 100 units take a nanosecond.
inline constexpr double kWorkOfANanosecond = 80;

/// One grid iteration of a phase, in operations on a byte.
Extent work(const loops::Kernel& kernel, const loops::Phase& phase);

/// It computes nothing: every value is an element of a buffer, at a position that no data decides.
bool is_copy(const loops::Kernel& kernel);

}  // namespace tenon::runtime
