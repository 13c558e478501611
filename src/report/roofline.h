// How far each step is from what the machine could do.
#pragma once

#include <vector>

#include "compiler/lowered.h"
#include "report/host_roofs.h"
#include "report/json.h"
#include "report/steps.h"
#include "roofs/limit.h"
#include "tenon/executable.h"

namespace tenon::report {

/// What each step computes and touches at these sizes, in runs that follow each other. Of a conditional, and of a loop
/// that may end early, nothing: nobody knows which of it runs.
std::vector<roofs::StepWork> works_of(const compiler::Lowered& lowered, const Executable& executable,
                                      const Bindings& bindings);

/// Steps whose time was measured, under the roofs of this machine for the threads that each used.
struct Roofline {
  roofs::Roofs roofs = {};
  std::vector<roofs::StepWork> works = {};
  std::vector<roofs::Limit> limits = {};  // by step

  bool known() const { return !limits.empty(); }
};

/// Measures the roofs, unless they are kept; again where a step was faster than they are.
Roofline roofline_of(std::vector<roofs::StepWork> works, const std::vector<BoundStep>& steps,
                     const RoofsOptions& options = {});

/// Microseconds that step `i` takes beyond its limit.
double time_to_win(const Roofline& roofline, const std::vector<BoundStep>& steps, size_t i);
/// The steps in which most time could be won, most first: at most three.
std::vector<size_t> most_to_win(const Roofline& roofline, const std::vector<BoundStep>& steps);

/// `roofs` of `--json`.
Json roofs_json(const Roofline& roofline);

}  // namespace tenon::report
