// Which outputs of a kernel may lie where an input lies.
#pragma once

#include "kernel/loop/loop.h"

namespace tenon::loops {

/// The pairs of Kernel::may_share: every element of the output is computed from what lies at its own place in the
/// input, and nothing there is read once it is written. None when in doubt. How many elements there are is not looked
/// at.
std::vector<MayShare> find_may_share(const Kernel& kernel);

}  // namespace tenon::loops
