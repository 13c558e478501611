// Concats of what kernels make: placement.
#include "base/fail.h"
#include "schedule/fuse/fusion.h"

namespace tenon::schedule {

/// The concat, a cluster of its own, has operands that kernels make for nobody else.
bool Fusion::try_place(const Node& concat) {
  const Value whole(&concat, 0);
  const int cluster = owner_.at(&concat);
  std::unordered_set<Value> parts;
  for (const Value& part : concat.inputs) {
    const bool is_made = roles_.of(part.node()) == NodeRole::loop && !part.node().as<Concat>() &&
                         clusters_.contains(owner_.at(&part.node()));
    const bool is_free = is_made && !visible_.contains(part) && clusters_reading(part) == std::set<int>{cluster};
    if (!is_free || !parts.insert(part).second) {
      return false;
    }
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
    maker.boundary = "concat: it writes its part of the result in place";
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
