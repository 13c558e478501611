// How a specialization's work is cut up.
#pragma once

#include <span>

#include "runtime/plan/specialization.h"
#include "runtime/plan/waves.h"

namespace tenon::runtime {

/// Work of each step at these sizes, in the units of kernel_facts.h; 0 of steps without kernels.
std::vector<double> work_of_steps(const Plan& plan, const Specialization& s);

/// Whether a part runs at all: not when another takes its place, or when it has nothing to write.
bool is_chosen(const Plan& plan, const Specialization& s, const PartPlan& part);

/// Fill in ranges, launches and stages. How a grid is cut depends on `threads`, what it computes does not.
void make_launches(const Plan& plan, const Waves& waves, int threads, Specialization& s);

}  // namespace tenon::runtime
