// Stores that share no loop with others.
#pragma once

#include "schedule/draft/draft.h"

namespace tenon::schedule {

/// The store in loops that nothing else runs in: lanes run along what lies side by side in it, whatever is best for
/// others. `axes` are the loops to be its own. As it is where its value is made of what other loops of the kernel
/// leave.
DraftStore in_own_loops(Draft& draft, DraftStore store, AxisSet axes);

}  // namespace tenon::schedule
