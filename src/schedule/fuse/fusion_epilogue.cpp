// Reductions of what a product leaves move into its kernel, where its tiles are in cache.
#include <fmt/format.h>

#include <algorithm>

#include "kernel/loop/loop_walk.h"
#include "schedule/fuse/attempts.h"
#include "schedule/fuse/fusion.h"
#include "schedule/fuse/named.h"
#include "schedule/fuse/repeated_bytes.h"

namespace tenon::schedule {
namespace {

constexpr size_t kMostReductions = 8;  // of a kernel, to be tried

/// Rows of the second cache that count like one of the first: shorter ones cost nothing to read again.
constexpr int64_t kReadAgain = 64;

/// A product is written where its result is wanted, in tiles of their own sizes.
bool writes_product(const loops::Kernel& kernel) {
  bool found = false;
  loops::for_each_product(kernel, [&](const loops::Product& product) {
    found |= kernel.buffers[static_cast<size_t>(product.tile.buffer)].role == loops::Role::output;
  });
  return found;
}

bool has_product(const Cluster& cluster) {
  return std::ranges::any_of(cluster.nodes, [](const Node* node) { return node->as<Contract>() || node->as<Conv>(); });
}

}  // namespace

/// Why tiles are not the place to reduce where `left` stays of the consumer; empty where they are. One pass over what
/// lies in memory costs less than a product that can no longer be written where it belongs; rows that stay in cache are
/// read again for free.
std::string Fusion::why_not_move(const Cluster& p, const Cluster& c,
                                 const std::unordered_set<const Node*>& left) const {
  if (left.empty()) {
    return !writes_product(p.nest.kernel) || outputs_of(p.owned, {c.id}).empty()
               ? ""
               : "others read the product, which is written where they read it; tiles would be kept elsewhere first";
  }
  const auto row_bytes = (repeated_bytes(c.nest.kernel) * kReadAgain).constant();
  return !row_bytes || *row_bytes > options_.most_row_bytes ? "" : "its rows stay in cache until they are read again";
}

/// Move the nodes in `narrow` from the consumer to the producer; what they are made of is computed in both, if the
/// consumer still needs it. Gives why not; empty where they moved.
std::string Fusion::try_move(int producer, int consumer, const std::unordered_set<const Node*>& narrow) {
  const Cluster p = clusters_.at(producer);
  const Cluster c = clusters_.at(consumer);
  std::unordered_set<const Node*> moved;
  std::unordered_set<const Node*> left;
  const auto add_with_operands = [&](std::unordered_set<const Node*>& to, const Node* from, bool through_narrow) {
    std::vector<const Node*> pending{from};
    while (!pending.empty()) {
      const Node* node = pending.back();
      pending.pop_back();
      if (!c.members.contains(node) || (!through_narrow && narrow.contains(node)) || !to.insert(node).second) {
        continue;
      }
      for (const Value& operand : roles_.operands(*node)) {
        pending.push_back(&operand.node());
      }
    }
  };
  for (const Node* node : narrow) {
    add_with_operands(moved, node, true);
  }
  for (const Value& output : outputs_of(c.owned, {})) {
    add_with_operands(left, &output.node(), false);
  }
  if (std::string why = why_not_move(p, c, left); !why.empty()) {
    return why;
  }
  for (const Node* node : moved) {
    for (const Value& operand : roles_.operands(*node)) {
      if (state_.next(operand) != nullptr) {
        return fmt::format("{} reads an array before it is updated in place", op_name(node->op));
      }
      const auto owner = owner_.find(&operand.node());
      if (owner != owner_.end() && owner->second != producer && owner->second != consumer &&
          has_path(producer, owner->second, true)) {
        return std::string(kBetween);
      }
    }
  }
  std::unordered_map<const Node*, std::vector<int>> homes_before;
  const auto in_order = [&](const std::unordered_set<const Node*>& members) {
    std::vector<const Node*> nodes(members.begin(), members.end());
    std::ranges::sort(nodes, {}, [&](const Node* node) { return order_.at(node); });
    return nodes;
  };
  Cluster& to = clusters_.at(producer);
  to.members.insert(moved.begin(), moved.end());
  to.nodes = in_order(to.members);
  to.has_one_shape = false;
  for (const Node* node : c.nodes) {
    std::vector<int>& homes = homes_[node];
    homes_before.emplace(node, homes);
    std::erase(homes, consumer);
    if (left.contains(node)) {
      homes.push_back(consumer);
    } else if (c.owned.contains(node)) {
      to.owned.insert(node);
      owner_[node] = producer;
    }
    if (moved.contains(node) && std::ranges::find(homes, producer) == homes.end()) {
      homes.push_back(producer);
    }
  }
  Cluster& from = clusters_.at(consumer);
  from.members = left;
  from.nodes = in_order(left);
  std::erase_if(from.owned, [&](const Node* node) { return !left.contains(node); });
  if (left.empty()) {
    clusters_.erase(consumer);
  }
  const auto worse = [](const Nest& nest, const Nest& before) -> std::string {
    if (!nest.repeats.empty() && before.repeats.empty()) {
      return fmt::format("{} would be computed again and again", nest.repeats);
    }
    return nest.winograd == 0 && before.winograd > 0 ? "a convolution in Winograd's form reduces no tiles" : "";
  };
  std::string why;
  auto built = build(to.members, outputs_of(to.owned, {}));
  if (const auto* refusal = std::get_if<Refusal>(&built)) {
    why = refusal->why;
  } else if (why = worse(std::get<Nest>(built), p.nest); why.empty()) {
    to.nest = std::move(std::get<Nest>(built));
    // Others may read what it stores: what was said of them holds.
    to.apart.insert(to.apart.end(), c.apart.begin(), c.apart.end());
    to.boundary = left.empty()
                      ? c.boundary
                      : fmt::format("{} with {}: what is reduced over all tiles is known after the last of them",
                                    named(*to.nodes.back()), named(*from.nodes.front()));
  }
  if (why.empty() && !left.empty()) {
    auto rest = build(from.members, outputs_of(from.owned, {}));
    if (const auto* refusal = std::get_if<Refusal>(&rest)) {
      why = refusal->why;
    } else if (why = worse(std::get<Nest>(rest), c.nest); why.empty()) {
      from.nest = std::move(std::get<Nest>(rest));
    }
  }
  if (!why.empty()) {
    clusters_[producer] = p;
    clusters_[consumer] = c;
    for (auto& [node, homes] : homes_before) {
      homes_[node] = std::move(homes);
      if (c.owned.contains(node)) {
        owner_[node] = consumer;
      }
    }
  }
  return why;
}

/// All reductions of the consumer move, else those that come first; and all that is made of them and as small.
bool Fusion::try_reduce_in_tiles(int producer, int consumer) {
  const Cluster& p = clusters_.at(producer);
  const Cluster& c = clusters_.at(consumer);
  if (roles_.of(*c.nodes[0]) == NodeRole::alone || !c.nest.reduces || has_product(c)) {
    return false;
  }
  const std::vector<const Node*> of_product = p.nodes;
  const std::vector<const Node*> nodes = c.nodes;
  const auto record = [&](const std::string& why) {
    AttemptLog::record([&] {
      return FusionAttempt{
          .rule = kTileRule, .first = of_product, .second = nodes, .joined = why.empty(), .finding = why};
    });
    return why.empty();
  };
  if (const auto why = refuse(p, c)) {
    return record(*why);
  }
  const auto elements = [&](const Node* node) {
    const Value value(node, 0);
    return bytes(value) / static_cast<double>(byte_size(value.dtype()));
  };
  double least = 0;  // elements that any reduction has
  std::vector<const Node*> reductions;
  for (const Node* node : nodes) {
    if (node->as<Reduce>()) {
      reductions.push_back(node);
      least = std::max(least, elements(node));
    }
  }
  for (size_t count = std::min(reductions.size(), kMostReductions); count > 0; --count) {
    std::unordered_set<const Node*> narrow;
    std::unordered_set<const Node*> later;  // what needs other reductions
    for (const Node* node : nodes) {
      const bool waits = std::ranges::find(reductions.begin() + static_cast<std::ptrdiff_t>(count), reductions.end(),
                                           node) != reductions.end() ||
                         std::ranges::any_of(roles_.operands(*node),
                                             [&](const Value& operand) { return later.contains(&operand.node()); });
      if (waits) {
        later.insert(node);
      } else if (elements(node) <= least) {
        narrow.insert(node);
      }
    }
    if (record(try_move(producer, consumer, narrow))) {
      return true;
    }
  }
  return false;
}

void Fusion::reduce_in_tiles() {
  epilogue_reductions_ = true;
  for (const Node* node : graph_.nodes()) {
    const auto owner = owner_.find(node);
    if (owner == owner_.end() || !clusters_.contains(owner->second) || !clusters_.at(owner->second).nest.has_products) {
      continue;
    }
    for (const int reader : clusters_reading(Value(node, 0))) {
      if (clusters_.contains(reader)) {
        try_reduce_in_tiles(owner->second, reader);
      }
    }
  }
}

}  // namespace tenon::schedule
