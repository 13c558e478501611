#include "partition/partition.h"

#include <algorithm>

#include "base/fail.h"
#include "partition/cut/by_number.h"
#include "partition/cut/by_profile.h"
#include "partition/cut/recompute.h"
#include "partition/fuse/blocks.h"
#include "partition/fuse/strategies.h"
#include "partition/plan/estimate.h"
#include "partition/plan/verify.h"

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

/// Why a group ends: what the strategies say of the edge from its last operator.
std::string why_ends(const Groups& groups, const std::vector<int>& group, const PlanOptions& options) {
  const SizedGraph& graph = groups.graph();
  const int last = group.back();
  for (const int tensor : graph.op(last).writes) {
    for (const int reader : graph.tensor(tensor).readers) {
      std::string reason;
      for (const std::string& name : options.fuse) {
        const std::string refusal = find_strategy(name).refuses(groups, last, reader);
        reason = refusal.empty() ? fmt::format("with `{}` it would lie in a circle", graph.op(reader).name) : refusal;
      }
      return reason.empty() ? "each operator is a part" : reason;
    }
  }
  return "its results are outputs of the model";
}

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

std::vector<Part> with_reasons(Lists lists, const std::vector<std::string>& why) {
  std::vector<Part> parts;
  for (size_t i = 0; i < lists.size(); ++i) {
    Part part;
    part.operators = std::move(lists[i]);
    part.why = why.size() == lists.size() ? why[i] : why.empty() ? "" : why[0];
    parts.push_back(std::move(part));
  }
  return parts;
}

std::vector<Part> cut_parts(const SizedGraph& graph, const Groups& groups, const Profile& profile,
                            const PlanOptions& options) {
  const Lists fused = in_order(graph, groups.all());
  if (options.by == "fusion") {
    std::vector<std::string> why;
    std::ranges::transform(fused, std::back_inserter(why),
                           [&](const std::vector<int>& group) { return why_ends(groups, group, options); });
    return with_reasons(fused, why);
  }
  if (options.by == "parts") {
    return with_reasons(in_order(graph, by_number(graph, fused, options)),
                        {"few bytes leave here, and arithmetic is in balance"});
  }
  if (options.by == "blocks") {
    return with_reasons(in_order(graph, blocks(graph)), {"one activation leaves here, as it does from each block"});
  }
  if (options.by == "resources") {
    ProfileCut cut = cut_by_resources(graph, fused, profile);
    return with_reasons(std::move(cut.parts), cut.why);
  }
  if (options.by == "pipeline") {
    require_parts(options, fused.size(), graph);
    ProfileCut cut = cut_for_pipeline(graph, fused, profile, static_cast<int>(options.parts));
    return with_reasons(std::move(cut.parts), cut.why);
  }
  std::vector<std::string_view> names;
  std::ranges::transform(kPartitioners, std::back_inserter(names), [](const auto& each) { return each.first; });
  fail("there is no partitioner `{}`; there is: {}", options.by, fmt::join(names, ", "));
}

}  // namespace

std::span<const std::pair<std::string_view, std::string_view>> partitioner_table() { return kPartitioners; }

Groups fuse(const SizedGraph& graph, const PlanOptions& options) {
  Groups groups(graph);
  for (const std::string& name : options.fuse) {
    find_strategy(name).run(groups);
  }
  return groups;
}

Plan make_plan(const SizedGraph& graph, const Bindings& bindings, const Profile& profile, const PlanOptions& options) {
  if (graph.operators.empty()) {
    fail("the model `{}` has no operators to partition: its outputs are inputs, constants or views of them",
         graph.model);
  }
  const Groups groups = fuse(graph, options);
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
  plan.parts = cut_parts(graph, groups, profile, options);
  if (options.memory_limit > 0) {
    plan.parts = keep_within(graph, std::move(plan.parts), options.memory_limit);
  }
  place(plan, graph, profile);
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
  verify(plan, sized(work, plan.bindings), profile);
}

Plan rebind(const Plan& plan, const WorkGraph& work, const Profile& profile, const Bindings& bindings) {
  Plan result = plan;
  result.bindings = bindings;
  result.memory_limit = 0;  // was kept at other sizes
  for (Part& part : result.parts) {
    part.unit.clear();
  }
  const SizedGraph graph = sized(work, bindings);
  place(result, graph, profile);
  verify(result, graph, profile);
  return result;
}

std::string why(const WorkGraph& work, const Bindings& bindings, const PlanOptions& options, std::string_view a,
                std::string_view b) {
  const int first = work.find(a);
  const int second = work.find(b);
  const SizedGraph graph = sized(work, bindings);
  const Groups groups = fuse(graph, options);
  if (first == second) {
    return fmt::format("`{}` is one operator, in one part", a);
  }
  if (groups.same(first, second)) {
    return fmt::format("`{}` and `{}` are in one group: `{}` joined by {}, `{}` by {}", a, b, a, groups.rule(first), b,
                       groups.rule(second));
  }
  const int producer = std::min(first, second);
  const int reader = std::max(first, second);
  std::string text = fmt::format("`{}` and `{}` are in different groups", a, b);
  for (const std::string& name : options.fuse) {
    const std::string refusal = find_strategy(name).refuses(groups, producer, reader);
    text += fmt::format("\n  {}: {}", name, refusal.empty() ? "their groups would lie in a circle" : refusal);
  }
  return text;
}

}  // namespace tenon::partition
