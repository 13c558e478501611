// Cheap values are computed again where that moves fewer bytes than to store and load them.
#include <fmt/format.h>

#include <algorithm>

#include "kernel/product/product.h"
#include "ops/scalar/scalar_table.h"
#include "schedule/fuse/attempts.h"
#include "schedule/fuse/fusion.h"

namespace tenon::schedule {
namespace {

constexpr double kWorthIt = 1.05;
constexpr size_t kMostRecomputed = 16;  // operations
/// What a product may cost for each byte that is not moved. Heads of 64 cost up to 32, where both ways took as long at
/// 512 keys; more, because what is not stored does not grow with the square of a length either.
constexpr double kFlopsPerByte = 64;
constexpr int64_t kLongSize = 512;  // of a named axis, where products are computed again: short ones matter less
constexpr double kMuchLarger = 2;   // a product of known sizes than what it is made of

/// Whether the value is nothing but a narrower one, which products of the cluster read as it is; nobody else in it
/// reads an element often.
bool products_widen(const Cluster& cluster, const Value& value) {
  const auto* map = value.node().as<Map>();
  if (map == nullptr || map->fn != &scalar_fn("cast")) {
    return false;
  }
  const ProductTypes types{.left = value.dtype(), .right = value.node().inputs[0].dtype(), .tile = value.dtype()};
  return is_product(types) && std::ranges::none_of(cluster.nodes, [](const Node* node) {
           return reads_elements_often(*node) && node->as<Contract>() == nullptr;
         });
}

}  // namespace

/// Multiplications and additions of a product that is much larger than what it is made of, such as all scores of
/// queries and keys: it grows faster with the sizes of named axes, or is larger by a factor. None for others, and where
/// the depth is not known.
std::optional<double> Fusion::flops_of_large(const Value& value) const {
  const auto* const contract = value.node().as<Contract>();
  if (!contract) {
    return std::nullopt;
  }
  double flops = 2 * bytes(value, kLongSize) / static_cast<double>(byte_size(value.dtype()));
  for (const int axis : contract->lhs_contract) {
    const auto size = value.node().inputs[0].extent(axis).constant();
    if (!size) {
      return std::nullopt;
    }
    flops *= static_cast<double>(*size);
  }
  const auto growth = [&](const Value& v) { return bytes(v, 2 * kLongSize) / bytes(v, kLongSize); };
  double operands = 0;
  for (const Value& operand : value.node().inputs) {
    operands += bytes(operand, kLongSize);
    if (growth(value) > 1 && growth(operand) >= growth(value)) {
      return std::nullopt;
    }
  }
  return growth(value) > 1 || bytes(value) >= kMuchLarger * operands ? std::optional(flops) : std::nullopt;
}

/// The maps of the value's own size that make it, down to what is smaller or not made in its cluster; with `products`,
/// the products too that they are made from. `end`, where given, is loaded like what is not made there.
Fusion::Cone Fusion::cone_of(const Value& value, bool products, const Node* end) const {
  const Cluster& producer = clusters_.at(owner_.at(&value.node()));
  const int64_t size = products ? kLongSize : kNominalSize;
  const double own = bytes(value, size);
  Cone cone;
  std::vector<const Node*> pending{&value.node()};
  std::unordered_set<const Node*> seen{&value.node()};
  while (!pending.empty()) {
    const Node* node = pending.back();
    pending.pop_back();
    cone.nodes.push_back(node);
    for (const Value& operand : roles_.operands(*node)) {
      const Node& from = operand.node();
      const bool is_nobodys = roles_.of(from) == NodeRole::loop && !is_owned_loop(from);
      const bool is_there = node->as<Map>() && &from != end && producer.members.contains(&from) &&
                            bytes(operand, size) >= own && !visible_.contains(operand);
      const auto flops = products ? flops_of_large(operand) : std::nullopt;
      if (!is_nobodys && !(is_there && (from.as<Map>() || flops))) {
        cone.frontier.insert(operand);
      } else if (seen.insert(&from).second) {
        pending.push_back(&from);
        cone.flops += flops.value_or(0);
      }
    }
  }
  return cone;
}

/// Whether something in the cluster that is made of the value is read often: it would be computed again as often.
bool Fusion::leads_to_often(const Cluster& cluster, const Value& value) const {
  std::unordered_set<const Node*> made{&value.node()};
  for (const Node* node : cluster.nodes) {
    const bool reads = std::ranges::any_of(roles_.operands(*node),
                                           [&](const Value& operand) { return made.contains(&operand.node()); });
    if (reads && reads_elements_often(*node)) {
      return true;
    }
    if (reads) {
      made.insert(node);
    }
  }
  return false;
}

/// Copy what makes `value` into every cluster that reads it, from values that are smaller or read there anyway; or from
/// `end`, which is known to pay.
bool Fusion::try_recompute(const Value& value, bool products, const Node* end) {
  const int owner = owner_.at(&value.node());
  const Cluster& producer = clusters_.at(owner);
  const std::set<int> consumers = clusters_reading(value);
  if (consumers.empty() || !value.node().as<Map>()) {
    return false;
  }
  const int64_t size = products ? kLongSize : kNominalSize;
  const double own = bytes(value, size);
  const auto& [cone, frontier, flops] = cone_of(value, products, end);
  if (products && flops == 0) {
    return false;
  }
  // `why()` is what is found, where somebody asks; `reader` is the one that is in the way, or -1 for all of them.
  const auto refuse = [&](int reader, const auto& why) {
    for (const int id : consumers) {
      AttemptLog::record([&] {
        const std::string_view others = reader < 0 || id == reader ? "" : "all of its readers compute it, or none: ";
        return FusionAttempt{.rule = kRecomputeRule,
                             .first = cone,
                             .second = clusters_.at(id).nodes,
                             .finding = fmt::format("{}{}", others, why())};
      });
    }
    return false;
  };
  if (visible_.contains(value)) {
    return refuse(-1, [] { return "what would be computed again is an output of the graph, and stored anyway"; });
  }
  if (cone.size() > kMostRecomputed) {
    return refuse(-1, [&] {
      return fmt::format("{} operations would be computed again, and {} at most are", cone.size(), kMostRecomputed);
    });
  }
  // What an output takes the place of would have to stay for longer.
  if (products && std::ranges::any_of(frontier, [&](const Value& load) { return overwritten_.contains(load); })) {
    return refuse(-1, [] { return "an output takes the place of what it would be computed of"; });
  }
  // What is updated in place is read before that.
  if (std::ranges::any_of(frontier, [&](const Value& load) { return state_.next(load) != nullptr; })) {
    return refuse(-1, [] { return "what it would be computed of is updated in place"; });
  }
  const std::vector<Value> stored = outputs_of(producer.owned, {});
  double before = own;
  double after = 0;
  for (const Value& load : frontier) {
    const bool is_new_store =
        producer.members.contains(&load.node()) && std::ranges::find(stored, load) == stored.end();
    after += is_new_store ? bytes(load, size) : 0;
  }
  // Behind a product nothing is computed again but what is read in much fewer bytes, such as integers of eight bits.
  double narrow = 0;
  for (const Value& load : frontier) {
    narrow += bytes(load, size);
  }
  const bool is_narrow = 2 * narrow <= own;
  std::map<int, Cluster> changed;
  for (const int id : consumers) {
    const Cluster& consumer = clusters_.at(id);
    const auto has = [&](const auto& is_kind) { return std::ranges::any_of(consumer.nodes, is_kind); };
    const bool suits = products
                           ? has([](const Node* n) { return n->as<Contract>() != nullptr; })
                           : !has([](const Node* n) { return reads_elements_often(*n); }) ||
                                 (is_narrow && (!leads_to_often(consumer, value) || products_widen(consumer, value)));
    if (roles_.of(*consumer.nodes[0]) == NodeRole::alone) {
      return refuse(id, [&] { return fmt::format("{} is a step of its own", op_name(consumer.nodes[0]->op)); });
    }
    if (!suits) {
      return refuse(id, [&]() -> std::string {
        if (products) {
          return fmt::format("a product is computed again only in another product, and {} is none",
                             op_name(consumer.nodes.back()->op));
        }
        const Node& often =
            **std::ranges::find_if(consumer.nodes, [](const Node* n) { return reads_elements_often(*n); });
        return leads_to_often(consumer, value) && !products_widen(consumer, value)
                   ? fmt::format("{} reads every element several times, and would compute it as often",
                                 op_name(often.op))
                   : fmt::format("beside {} nothing is computed again but what is read in half the bytes",
                                 op_name(often.op));
      });
    }
    before += own;
    after += flops / kFlopsPerByte;
    std::unordered_set<Value> loads;
    for (const Node* node : consumer.nodes) {
      for (const Value& operand : roles_.operands(*node)) {
        loads.insert(operand);
      }
    }
    for (const Value& load : frontier) {
      after += loads.contains(load) ? 0 : bytes(load, size);
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
  const bool counts = std::ranges::all_of(consumers, [&](int id) { return bytes(value) >= largest_read(id); });
  if (!end && (counts ? after > before * kWorthIt : after >= before)) {
    return refuse(-1, [&] {
      return fmt::format("with {} for every axis it costs as much as {:.0f} bytes, and to store and load it {:.0f}",
                         size, after, before);
    });
  }
  for (auto& [id, copy] : changed) {
    auto built = build(copy.members, outputs_of(copy.owned, {}));
    if (const auto* refusal = std::get_if<Refusal>(&built)) {
      return refuse(id, [&] { return refusal->why; });
    }
    Nest& nest = std::get<Nest>(built);
    if (!nest.repeats.empty() && clusters_.at(id).nest.repeats.empty()) {
      return refuse(id, [&] { return fmt::format("{} would be computed again and again", nest.repeats); });
    }
    copy.nest = std::move(nest);
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
    return refuse(-1, [&] { return std::get<Refusal>(rebuilt).why; });
  }
  p.nest = std::move(std::get<Nest>(rebuilt));
  return true;
}

/// Whether the value is made of the source and of arrays that are small beside it, by few maps.
bool Fusion::is_cheap_of(const Value& value, const Node& source) const {
  if (&value.node() == &source || !value.node().as<Map>()) {
    return false;
  }
  const Cone cone = cone_of(value, false, &source);
  double others = 0;
  for (const Value& load : cone.frontier) {
    others += &load.node() == &source ? 0 : bytes(load);
  }
  return cone.frontier.contains(Value(&source, 0)) && cone.nodes.size() <= kMostRecomputed &&
         others <= (kWorthIt - 1) * bytes(value);
}

/// Whether the cluster of these outputs stores `source` from now on, and at least one array less than before.
bool Fusion::try_store_instead(const std::vector<Value>& outputs, const Node& source) {
  const Value shared(&source, 0);
  std::vector<Value> made;
  for (const Value& value : outputs) {
    if (!visible_.contains(value) && bytes(value) >= bytes(shared) && is_cheap_of(value, source)) {
      made.push_back(value);
    }
  }
  const bool is_stored = std::ranges::find(outputs, shared) != outputs.end();
  if (made.size() < (is_stored ? 1U : 2U)) {
    return false;
  }
  bool changed = false;
  for (const Value& value : made) {
    changed = try_recompute(value, false, &source) || changed;
  }
  return changed;
}

void Fusion::recompute_of_shared() {
  for (const Node* first : graph_.nodes()) {
    if (!is_owned_loop(*first) || clusters_.at(owner_.at(first)).nodes.front() != first) {
      continue;
    }
    const Cluster& cluster = clusters_.at(owner_.at(first));
    const std::vector<Value> outputs = outputs_of(cluster.owned, {});
    const std::vector<const Node*> nodes = cluster.nodes;
    bool changed = outputs.size() < 2;
    for (auto node = nodes.rbegin(); node != nodes.rend() && !changed; ++node) {  // the nearest source first
      changed = (*node)->as<Map>() && owner_.at(*node) == owner_.at(first) && try_store_instead(outputs, **node);
    }
  }
}

void Fusion::recompute_free() {
  for (const Node* node : graph_.nodes()) {
    const Value value(node, 0);
    if (node->as<Map>() && clusters_reading(value).size() > 1 && cone_of(value, false).frontier.empty()) {
      try_recompute(value, false);
    }
  }
}

void Fusion::recompute_cheap() {
  const std::vector<const Node*>& nodes = graph_.nodes();
  for (const bool products : {false, true}) {
    for (size_t i = nodes.size(); i-- > 0;) {
      if (is_owned_loop(*nodes[i])) {
        try_recompute(Value(nodes[i], 0), products);
      }
    }
  }
}

}  // namespace tenon::schedule
