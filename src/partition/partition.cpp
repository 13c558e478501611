#include "partition/partition.h"

#include <algorithm>

#include "base/fail.h"
#include "partition/cut/by_number.h"
#include "partition/cut/by_profile.h"
#include "partition/cut/recompute.h"
#include "partition/fuse/blocks.h"
#include "partition/fuse/stages.h"
#include "partition/plan/estimate.h"
#include "partition/plan/verify.h"
#include "partition/reasons.h"

namespace tenon::partition {
namespace {

using Lists = std::vector<std::vector<int>>;

constexpr std::pair<std::string_view, std::string_view> kPartitioners[] = {
    {"fusion", "each group of the strategies is a part"},
    {"parts", "a number of parts with few bytes between them and arithmetic in balance"},
    {"blocks", "the repeated blocks of the architecture"},
    {"resources", "parts that fit the memory of a unit"},
    {"pipeline", "stages of equal time on a number of devices"},
};

void require_parts(const PlanOptions& options, size_t groups, const SizedGraph& graph) {
  if (options.parts < 1) {
    fail("`{}` needs a number of parts, at least 1; the first operator of the model is `{}`", options.by,
         graph.op(0).name);
  }
  if (options.parts > static_cast<int64_t>(groups)) {
    fail(
        "{} parts cannot be made of {} groups of operators, the last of which ends with `{}`; fewer parts, or less "
        "fusion",
        options.parts, groups, graph.operators.back().name);
  }
}

Lists by_number(const SizedGraph& graph, const Lists& groups, const PlanOptions& options) {
  require_parts(options, groups.size(), graph);
  const CutGraph cuts = cut_graph(graph, groups);
  double total = 0;
  double heaviest = 0;
  size_t heavy = 0;
  for (size_t i = 0; i < groups.size(); ++i) {
    total += cuts.weight[i];
    heavy = cuts.weight[i] > heaviest ? i : heavy;
    heaviest = std::max(heaviest, cuts.weight[i]);
  }
  const double mean = total / static_cast<double>(options.parts);
  const auto count = static_cast<int>(options.parts);
  const auto cut = cut_by_number(cuts, count, (1 + options.imbalance) * mean);
  if (!cut) {
    double least = total;
    for (const std::vector<int>& order : topological_orders(cuts, 0)) {
      least = std::min(least, least_heaviest(cuts, order, count));
    }
    fail(
        "no {} parts keep an imbalance of {}: the group of operator `{}` alone has {:.2f} of a mean part; {:.3f} can "
        "be "
        "kept",
        count, options.imbalance, graph.op(groups[heavy][0]).name, heaviest / mean, least / mean - 1 + 0.0005);
  }
  Lists parts(static_cast<size_t>(count));
  for (size_t i = 0; i < groups.size(); ++i) {
    std::vector<int>& part = parts[static_cast<size_t>(cut->part_of[i])];
    part.insert(part.end(), groups[i].begin(), groups[i].end());
  }
  return parts;
}

Lists cut_parts(const SizedGraph& graph, const Groups& groups, const Profile& profile, const PlanOptions& options) {
  const Lists fused = in_order(graph, groups.all());
  if (options.by == "fusion") {
    return fused;
  }
  if (options.by == "parts") {
    return in_order(graph, by_number(graph, fused, options));
  }
  if (options.by == "blocks") {
    return in_order(graph, blocks(graph));
  }
  if (options.by == "resources") {
    return cut_by_resources(graph, fused, profile, options.limits);
  }
  if (options.by == "pipeline") {
    require_parts(options, fused.size(), graph);
    return cut_for_pipeline(graph, fused, profile, static_cast<int>(options.parts));
  }
  std::vector<std::string_view> names;
  std::ranges::transform(kPartitioners, std::back_inserter(names), [](const auto& each) { return each.first; });
  fail("there is no partitioner `{}`; there is: {}", options.by, fmt::join(names, ", "));
}

void fill_in_reasons(Plan& plan, const Stages& stages, const Profile& profile) {
  std::vector<std::string> why = reasons(plan, stages, profile);
  for (size_t p = 0; p < plan.parts.size(); ++p) {
    plan.parts[p].why = std::move(why[p]);
  }
}

Stages stages_of(const Plan& plan, const SizedGraph& graph) { return {graph, strategies_of(plan)}; }

/// `vertical joins a and b, residual b and c`.
std::string joints_text(const Groups& groups, int first, int second) {
  std::string text;
  std::string_view rule;
  for (const Groups::Joint& joint : groups.joints(first, second)) {
    const std::string joins = joint.rule == rule ? "" : fmt::format("{}{} ", joint.rule, rule.empty() ? " joins" : "");
    text += fmt::format("{}{}`{}` and `{}`", text.empty() ? "" : ", ", joins, groups.graph().op(joint.a).name,
                        groups.graph().op(joint.b).name);
    rule = joint.rule;
  }
  return text;
}

/// The parts that compute an operator, from 1.
std::vector<size_t> parts_with(const Plan& plan, int op) {
  std::vector<size_t> result;
  for (size_t p = 0; p < plan.parts.size(); ++p) {
    if (std::ranges::find(plan.parts[p].operators, op) != plan.parts[p].operators.end()) {
      result.push_back(p + 1);
    }
  }
  return result;
}

}  // namespace

std::span<const std::pair<std::string_view, std::string_view>> partitioner_table() { return kPartitioners; }

Plan make_plan(const SizedGraph& graph, const Bindings& bindings, const Profile& profile, const PlanOptions& options) {
  if (graph.operators.empty()) {
    fail("the model `{}` has no operators to partition: its outputs are inputs, constants or views of them",
         graph.model);
  }
  const Stages stages(graph, options.fuse);
  Plan plan;
  plan.model = graph.model;
  plan.graph = "model";
  plan.hash = hash_of(graph);
  plan.bindings = bindings;
  plan.fuse = fmt::format("{}", fmt::join(options.fuse, ","));
  plan.by = options.by;
  plan.profile = profile.name;
  plan.devices = options.by == "pipeline" ? options.parts : 1;
  plan.micro_batches = options.by == "pipeline" ? options.micro_batches : 1;
  plan.memory_limit = options.memory_limit;
  plan.limits = options.limits;
  for (std::vector<int>& list : cut_parts(graph, stages.groups(), profile, options)) {
    plan.parts.emplace_back().operators = std::move(list);
  }
  if (options.memory_limit > 0) {
    plan.parts = keep_within(graph, std::move(plan.parts), options.memory_limit);
  }
  place(plan, graph, profile);
  fill_in_reasons(plan, stages, profile);
  verify(plan, graph, profile);
  return plan;
}

Plan make_plan(const WorkGraph& work, const Bindings& bindings, const Profile& profile, const PlanOptions& options) {
  Plan plan = make_plan(sized(work, bindings), bindings, profile, options);
  if (std::ranges::find(options.fuse, "compiler") != options.fuse.end()) {
    plan.graph = "optimized";
  }
  return plan;
}

void verify(const Plan& plan, const WorkGraph& work, const Profile& profile) {
  const SizedGraph graph = sized(work, plan.bindings);
  verify(plan, graph, profile);
  verify_reasons(plan, stages_of(plan, graph), profile);
}

Plan rebind(const Plan& plan, const WorkGraph& work, const Profile& profile, const Bindings& bindings) {
  Plan result = plan;
  result.bindings = bindings;
  result.memory_limit = 0;  // was kept at other sizes
  result.limits = {};
  for (Part& part : result.parts) {
    part.unit.clear();
  }
  const SizedGraph graph = sized(work, bindings);
  place(result, graph, profile);
  fill_in_reasons(result, stages_of(result, graph), profile);
  verify(result, graph, profile);
  return result;
}

std::string why(const WorkGraph& work, const Plan& plan, std::string_view a, std::string_view b) {
  const int first = work.find(a);
  const int second = work.find(b);
  const SizedGraph graph = sized(work, plan.bindings);
  const Stages stages = stages_of(plan, graph);
  const Groups& groups = stages.groups();
  const std::vector<size_t> of_first = parts_with(plan, first);
  const std::vector<size_t> of_second = parts_with(plan, second);
  if (first == second) {
    return fmt::format("`{}` is one operator, in part {}", a, fmt::join(of_first, " and again in "));
  }
  std::vector<size_t> common;
  std::ranges::set_intersection(of_first, of_second, std::back_inserter(common));
  const bool joined = groups.same(first, second);
  std::string text = common.empty() ? fmt::format("`{}` and `{}` are in different parts, {} and {}", a, b,
                                                  fmt::join(of_first, ", "), fmt::join(of_second, ", "))
                                    : fmt::format("`{}` and `{}` are in one part, {}", a, b, fmt::join(common, ", "));
  if (joined && !common.empty()) {
    return text + ": " + joints_text(groups, first, second);
  }
  if (joined) {
    text += fmt::format(", though {}", joints_text(groups, first, second));
  } else {
    for (const std::string& line : refusals(stages, std::min(first, second), std::max(first, second))) {
      text += "\n  " + line;
    }
  }
  if (!common.empty()) {
    return text + fmt::format("\n  {}: puts their groups into one part", plan.by);
  }
  const size_t earlier = std::min(of_first.front(), of_second.front());
  return plan.by == "fusion"
             ? text
             : text + fmt::format("\n  {}: part {} ends: {}", plan.by, earlier, plan.parts[earlier - 1].why);
}

}  // namespace tenon::partition
