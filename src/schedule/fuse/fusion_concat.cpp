// Concats of what kernels make: placement.
#include <fmt/format.h>

#include "base/fail.h"
#include "schedule/fuse/attempts.h"
#include "schedule/fuse/fusion.h"
#include "schedule/fuse/named.h"

namespace tenon::schedule {

/// Why a kernel cannot write this operand of the concat in its place; empty where it can.
std::string Fusion::why_not_placed(const Value& part, int cluster) const {
  if (roles_.of(part.node()) != NodeRole::loop || !clusters_.contains(owner_.at(&part.node()))) {
    return "no kernel makes it";
  }
  if (part.node().as<Concat>()) {
    return "it is a concat, too";
  }
  if (visible_.contains(part)) {
    return "it is an output of the graph";
  }
  return clusters_reading(part) == std::set<int>{cluster} ? "" : "others read it, too";
}

/// The concat, a cluster of its own, has operands that kernels make for nobody else.
bool Fusion::try_place(const Node& concat) {
  const Value whole(&concat, 0);
  const int cluster = owner_.at(&concat);
  std::string why;
  std::unordered_set<Value> parts;
  for (const Value& part : concat.inputs) {
    std::string each = why_not_placed(part, cluster);
    if (each.empty() && !parts.insert(part).second) {
      each = "it is there twice";
    }
    if (!each.empty()) {
      why = fmt::format("operand {} is not written in its place: {}", &part - concat.inputs.data() + 1, each);
      break;
    }
  }
  for (const Value& part : concat.inputs) {
    if (const auto maker = owner_.find(&part.node()); maker != owner_.end() && clusters_.contains(maker->second)) {
      AttemptLog::record([&] {
        return FusionAttempt{.rule = kConcatRule,
                             .first = clusters_.at(maker->second).nodes,
                             .second = {&concat},
                             .joined = why.empty(),
                             .finding = why};
      });
    }
  }
  if (!why.empty()) {
    return false;
  }
  Extent start = 0;
  const int axis = concat.as<Concat>()->axis;
  for (const Value& part : concat.inputs) {
    placements_.emplace(part, Placement{.whole = whole, .axis = axis, .start = start});
    start += part.extent(axis);
  }
  for (const Value& part : concat.inputs) {
    Cluster& maker = clusters_.at(owner_.at(&part.node()));
    auto built = build(maker.members, outputs_of(maker.owned, {}));
    TENON_CHECK(std::holds_alternative<Nest>(built), "{}", std::get<Refusal>(built).why);
    maker.nest = std::get<Nest>(std::move(built));
    maker.boundary =
        fmt::format("{} with {}: it writes its part of the result in place", named(part.node()), named(concat));
  }
  clusters_.erase(cluster);
  homes_[&concat].clear();
  return true;
}

void Fusion::place_concats() {
  for (const Node* node : graph_.nodes()) {
    if (node->as<Concat>() && roles_.of(*node) == NodeRole::loop && clusters_.contains(owner_.at(node)) &&
        clusters_.at(owner_.at(node)).nodes.size() == 1) {
      try_place(*node);
    }
  }
}

}  // namespace tenon::schedule
