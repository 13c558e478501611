// Constants that products read in panels, and other kernels row by row: one form for all of them.
#pragma once

#include <vector>

#include "schedule/fuse/group.h"

namespace tenon::schedule {

/// Kernels that read such a constant by looked-up columns read the panels instead, so that the constant is in memory
/// once. The words of a language model are looked up and, behind its layers, multiplied by:
///   before: load w[k + depth*v]                         for columns v
///   after:  load w[panel*k + v + panel*(depth-1)*p]     where p = v / panel
/// Left alone: constants that lie in panels of two kinds, or that something reads in another way.
void share_panels(std::vector<GroupedStep>& steps);

}  // namespace tenon::schedule
