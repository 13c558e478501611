// Products as loops, for blocks of threads.
#pragma once

#include <set>

#include "kernel/loop/loop.h"

namespace tenon::schedule {

/// Threads of a block that has products.
inline constexpr int64_t kProductThreads = 256;

/// The loops of a product, for a block of kProductThreads: each thread has several sums in its registers. Adds axes,
/// values and accumulators to the kernel, and to `steps` the axes of loops around those of threads.
loops::Statement product_loops(loops::Kernel& kernel, const loops::Product& product, std::set<int>& steps);

}  // namespace tenon::schedule
