// Scratch that is no longer needed, used again.
#pragma once

#include "kernel/loop/loop.h"

namespace tenon::schedule {

/// Scratch buffers of equal sizes that are not in use at the same time become one.
///   before: b4 = b0 * b1; b5 = b4 * b1; b6 = b5 * b1        after: b4 = b0 * b1; b5 = b4 * b1; b4 = b5 * b1
/// A long chain of products then stays in the first cache. The statements of a phase follow each other; all that one of
/// them, a loop with everything in it, uses is in use at once.
void share_scratch(loops::Kernel& kernel);

}  // namespace tenon::schedule
