// Plans as pictures and pages.
#pragma once

#include "cli/partition/partition_report.h"
#include "cli/partition/partition_run.h"

namespace tenon::cli {

/// The graph, parts as hulls, in Graphviz's language.
std::string plan_dot(const PartitionModel& model, const partition::Plan& plan);

/// The graph as it is: every operator a box, every edge a line, parts as hulls around their operators, laid out in
/// layers of parts. Operators have the class `op`, hulls `part` and the number in `data-part`.
std::string plan_svg(const PartitionModel& model, const partition::Plan& plan);

/// Which colours of operators stand for which roles, as HTML.
std::string role_legend();

/// What was estimated for parts against what was measured, both on logarithmic axes.
std::string estimate_svg(const partition::Plan& plan, const PlanRun& run);

/// What `--html`, `--svg`, `--dot` and `--plot` ask for.
void write_pages(const Arguments& arguments, const PartitionModel& model, const partition::Plan& plan,
                 const partition::Profile& profile, const std::vector<Rung>& rungs, const std::vector<PlanRun>& runs);

}  // namespace tenon::cli
