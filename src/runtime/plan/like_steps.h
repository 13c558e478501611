// Which stretches of a program are built alike, so that tiles are chosen once for all of them.
#pragma once

#include "runtime/plan/plan.h"

namespace tenon::runtime {

/// Fill in StepPlan::like for the steps of regions: both stretches have the same extents, and use their slots in the
/// same order from and to the same steps.
void find_like_steps(const Program& program, Plan& plan);

}  // namespace tenon::runtime
