// Stores that share no loop with others.
#pragma once

#include "schedule/draft/draft.h"

namespace tenon::schedule {

/// The store over copies of the loops `axes`, in which nothing else runs, so that its vector axis is chosen for it
/// alone. Unchanged where its value needs the result of a reduction or a load of anything but an input, and where the
/// kernel has no room for more axes.
DraftStore in_own_loops(Draft& draft, DraftStore store, AxisSet axes);

}  // namespace tenon::schedule
