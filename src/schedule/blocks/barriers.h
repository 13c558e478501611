// Where the threads of a block wait for each other.
#pragma once

#include <set>

#include "kernel/loop/loop.h"

namespace tenon::schedule {

/// Puts barriers into a phase of a kernel, so that no thread reads what another one has not written yet, or overwrites
/// what it still reads. Iterations of loops that are bound to threads need nothing of each other, nor do those of loops
/// around them over `steps`.
void add_barriers(loops::Kernel& kernel, const std::set<int>& steps);

}  // namespace tenon::schedule
