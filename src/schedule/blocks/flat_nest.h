// Loops inside of each other that the threads of a block share as if they were one.
#pragma once

#include <set>

#include "kernel/loop/loop.h"

namespace tenon::schedule {

/// Gives the iterations of each nest of loops, of which some run in lanes, to so many threads in turn, where each
/// iteration has elements of its own: the loops become one, and each axis a digit of its number. Other loops stay as
/// they are. The axes that count turns are added to `steps`, and digits.
void share_flat_nests(loops::Kernel& kernel, loops::Block& body, int64_t threads, std::set<int>& steps);

}  // namespace tenon::schedule
