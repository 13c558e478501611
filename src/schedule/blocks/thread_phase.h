// Phases whose iterations need nothing of each other.
#pragma once

#include "kernel/loop/loop.h"

namespace tenon::schedule {

/// Binds the grid of a kernel of one phase to blocks and threads, so that each thread has an element of what is
/// written, or an iteration of the grid. False, and nothing has changed, where the phase has another form: iterations
/// that keep something in scratch, or have several vectorised loops, or products.
bool map_to_threads(loops::Kernel& kernel, int64_t most_threads);

}  // namespace tenon::schedule
