// Cheap values are computed again where that moves fewer bytes than to store and load them.
#include <algorithm>

#include "schedule/fusion.h"

namespace tenon {
namespace {

constexpr double kWorthIt = 1.05;
constexpr size_t kMostRecomputed = 16;  // operations

}  // namespace

/// Copy the maps that make `value` into every cluster that reads it, from values that are smaller or read there anyway.
bool Fusion::try_recompute(const Value& value) {
  const int owner = owner_.at(&value.node());
  const Cluster& producer = clusters_.at(owner);
  const std::set<int> consumers = clusters_reading(value);
  if (consumers.empty() || visible_.contains(value) || !value.node().as<Map>()) {
    return false;
  }
  const double own = bytes(value);
  // Maps of the value's own size, down to what is smaller or not made here.
  std::vector<const Node*> cone;
  std::unordered_set<Value> frontier;
  std::vector<const Node*> pending{&value.node()};
  std::unordered_set<const Node*> seen{&value.node()};
  while (!pending.empty()) {
    const Node* node = pending.back();
    pending.pop_back();
    cone.push_back(node);
    for (const Value& operand : roles_.operands(*node)) {
      const bool is_made_here = producer.members.contains(&operand.node()) && operand.node().as<Map>();
      if (is_made_here && bytes(operand) >= own && !visible_.contains(operand)) {
        if (seen.insert(&operand.node()).second) {
          pending.push_back(&operand.node());
        }
      } else {
        frontier.insert(operand);
      }
    }
  }
  if (cone.size() > kMostRecomputed) {
    return false;
  }
  const std::vector<Value> stored = outputs_of(producer.owned, {});
  double before = own;
  double after = 0;
  for (const Value& load : frontier) {
    const bool is_new_store =
        producer.members.contains(&load.node()) && std::ranges::find(stored, load) == stored.end();
    after += is_new_store ? bytes(load) : 0;
  }
  std::map<int, Cluster> changed;
  for (const int id : consumers) {
    const Cluster& consumer = clusters_.at(id);
    if (roles_.of(*consumer.nodes[0]) == NodeRole::alone ||
        std::ranges::any_of(consumer.nodes, [](const Node* n) { return reads_elements_often(*n); })) {
      return false;
    }
    before += own;
    std::unordered_set<Value> loads;
    for (const Node* node : consumer.nodes) {
      for (const Value& operand : roles_.operands(*node)) {
        loads.insert(operand);
      }
    }
    for (const Value& load : frontier) {
      after += loads.contains(load) ? 0 : bytes(load);
    }
    Cluster copy = consumer;
    for (const Node* node : cone) {
      if (copy.members.insert(node).second) {
        copy.nodes.push_back(node);
      }
    }
    std::ranges::sort(copy.nodes, {}, [&](const Node* node) { return order_.at(node); });
    changed.emplace(id, std::move(copy));
  }
  // As many bytes and one array less is a gain, for the arrays that count.
  const bool counts = std::ranges::all_of(consumers, [&](int id) { return own >= largest_read(id); });
  if (counts ? after > before * kWorthIt : after >= before) {
    return false;
  }
  for (auto& [id, copy] : changed) {
    auto built = build(copy.members, outputs_of(copy.owned, {}));
    const Nest* nest = std::get_if<Nest>(&built);
    if (!nest || (!nest->repeats.empty() && clusters_.at(id).nest.repeats.empty())) {
      return false;
    }
    copy.nest = std::move(std::get<Nest>(built));
  }
  std::map<int, Cluster> before_change;
  std::vector<std::vector<int>> homes_before;  // of the cone
  for (const Node* node : cone) {
    homes_before.push_back(homes_[node]);
  }
  for (auto& [id, copy] : changed) {
    before_change.emplace(id, std::move(clusters_.at(id)));
    for (const Node* node : cone) {
      std::vector<int>& homes = homes_[node];
      if (std::ranges::find(homes, id) == homes.end()) {
        homes.push_back(id);
      }
    }
    clusters_[id] = std::move(copy);
  }
  Cluster& p = clusters_.at(owner);
  const std::vector<Value> left = outputs_of(p.owned, {});
  if (left.empty()) {
    for (const Node* node : p.members) {
      std::erase(homes_[node], owner);
    }
    clusters_.erase(owner);  // everybody makes its values alone
    return true;
  }
  auto rebuilt = build(p.members, left);
  if (std::holds_alternative<Refusal>(rebuilt)) {
    for (auto& [id, cluster] : before_change) {
      clusters_[id] = std::move(cluster);
    }
    for (size_t i = 0; i < cone.size(); ++i) {
      homes_[cone[i]] = std::move(homes_before[i]);
    }
    return false;
  }
  p.nest = std::move(std::get<Nest>(rebuilt));
  return true;
}

void Fusion::recompute_cheap() {
  const std::vector<const Node*>& nodes = graph_.nodes();
  for (size_t i = nodes.size(); i-- > 0;) {
    if (roles_.of(*nodes[i]) == NodeRole::loop && clusters_.contains(owner_.at(nodes[i]))) {
      try_recompute(Value(nodes[i], 0));
    }
  }
}

}  // namespace tenon
