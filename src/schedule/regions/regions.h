// Which steps of a program can run tile by tile.
#pragma once

#include "kernel/program/program.h"

namespace tenon::schedule {

/// Fill in Program::regions and Step::region_end, from what steps read and write and what is known of their kernels.
/// Sizes decide at each binding which parts of a region run in tiles, and in which.
void find_regions(Program& program);

}  // namespace tenon::schedule
