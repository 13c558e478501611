#include "schedule/fuse/fusion.h"

#include <algorithm>

#include "base/fail.h"
#include "kernel/program/program.h"
#include "schedule/fuse/attempts.h"
#include "shape/not_representable.h"

namespace tenon::schedule {
namespace {

constexpr size_t kMostNodes = 128;  // of a kernel
constexpr size_t kMostCost = 1500;  // of the values of a kernel: beyond, compiling takes longer than it saves

bool same_sizes(const Node& a, const Node& b) {
  return std::ranges::equal(a.shapes[0].axes(), b.shapes[0].axes(), {}, &Axis::extent, &Axis::extent);
}

bool is_product(const Node& node) { return node.as<Contract>() || node.as<Conv>(); }

}  // namespace

bool reads_elements_often(const Node& node) { return is_product(node) || node.as<Window>(); }

Fusion::Fusion(const Graph& graph, const Roles& roles, MapPrograms& programs, const ScheduleOptions& options,
               const StateUpdates& state)
    : graph_(graph), roles_(roles), programs_(programs), options_(options), state_(state) {
  for (const Output& output : graph.outputs()) {
    visible_.insert(output.value);
    if (output.aliases >= 0) {
      overwritten_.insert(graph.inputs()[static_cast<size_t>(output.aliases)]);
    }
  }
  for (const Node* node : graph.nodes()) {
    order_.emplace(node, order_.size());
    const NodeRole role = roles.of(*node);
    if (role != NodeRole::loop && role != NodeRole::alone) {
      continue;
    }
    for (const Value& operand : roles.operands(*node)) {
      readers_[operand].push_back(node);
    }
    Cluster cluster{
        .id = next_++, .nodes = {node}, .members = {node}, .owned = {node}, .nest = {}, .apart = {}, .boundary = {}};
    owner_[node] = cluster.id;
    homes_[node] = {cluster.id};
    clusters_.emplace(cluster.id, std::move(cluster));
  }
  for (auto& [id, cluster] : clusters_) {
    if (roles.of(*cluster.nodes[0]) == NodeRole::loop) {
      auto built = build(cluster.members, {Value(cluster.nodes[0], 0)});
      TENON_CHECK(std::holds_alternative<Nest>(built), "{}", std::get<Refusal>(built).why);
      cluster.nest = std::move(std::get<Nest>(built));
    }
  }
}

/// The values of `owned` nodes that the caller reads, or a cluster that does not make them itself. Clusters in
/// `ignored` are about to be part of this one.
std::vector<Value> Fusion::outputs_of(const std::unordered_set<const Node*>& owned,
                                      const std::vector<int>& ignored) const {
  std::vector<Value> outputs;
  for (const Node* node : owned) {
    const Value value(node, 0);
    const auto readers = clusters_reading(value);
    const bool is_read =
        std::ranges::any_of(readers, [&](int id) { return std::ranges::find(ignored, id) == ignored.end(); });
    if (is_read || visible_.contains(value) || placements_.contains(value) || state_.contains(value)) {
      outputs.push_back(value);
    }
  }
  std::ranges::sort(outputs, {}, [&](const Value& value) { return order_.at(&value.node()); });
  return outputs;
}

std::variant<Nest, Refusal> Fusion::build(const std::unordered_set<const Node*>& members,
                                          const std::vector<Value>& outputs, const BuildOptions& options) const {
  auto built = build_nest({.outputs = outputs,
                           .is_loaded =
                               [&](const Value& value) {
                                 return (!members.contains(&value.node()) &&
                                         roles_.of(value.node()) != NodeRole::folded && !value.node().as<Constant>()) ||
                                        state_.contains(value);
                               },
                           .options = options_,
                           .rows = options.rows,
                           .epilogue_reductions = epilogue_reductions_ && options.rows != RowForm::stream,
                           .shared_code = options.shared_code,
                           .storage = &roles_.storage(),
                           .placement =
                               [&](const Value& value) {
                                 const auto found = placements_.find(value);
                                 return found == placements_.end() ? std::nullopt : std::optional(found->second);
                               },
                           .in_place = [&](const Value& value) { return state_.contains(value); }},
                          programs_);
  if (const Nest* const nest = std::get_if<Nest>(&built); nest != nullptr && meets_own_update(*nest)) {
    return Refusal{std::string(kOwnUpdate), {}};
  }
  return built;
}

bool Fusion::meets_own_update(const Nest& nest) const {
  if (state_.empty()) {
    return false;
  }
  std::unordered_map<Value, int> users;
  for (const Value& value : nest.buffers) {
    if (value) {
      ++users[state_.memory(value)];
    }
  }
  for (size_t i = 0; i < nest.buffers.size(); ++i) {
    const Value& value = nest.buffers[i];
    if (value && nest.kernel.buffers[i].role == loops::Role::output && users.at(state_.memory(value)) > 1) {
      return true;
    }
  }
  return false;
}

std::set<int> Fusion::clusters_overwriting(const Cluster& cluster) const {
  std::set<int> found;
  if (state_.empty()) {
    return found;
  }
  for (const Node* node : cluster.nodes) {
    for (const Value& operand : roles_.operands(*node)) {
      if (const Node* const writer = state_.next(operand); writer != nullptr && owner_.at(writer) != cluster.id) {
        found.insert(owner_.at(writer));
      }
    }
  }
  return found;
}

/// Is there a way from one cluster to another, through at least one third cluster unless `direct_counts`? Clusters that
/// begin behind the node number `newest` lead nowhere: nothing before it reads them.
bool Fusion::has_path(int from, int to, bool direct_counts, size_t newest) const {
  if (!state_.empty()) {
    newest = std::numeric_limits<size_t>::max();  // a reader may come behind what overwrites it
  }
  std::vector<int> pending;
  std::unordered_set<int> seen{from};
  const auto push_readers = [&](const Cluster& cluster, bool from_start) {
    for (const int id : clusters_overwriting(cluster)) {
      if ((!(from_start && id == to) || direct_counts) && seen.insert(id).second) {
        pending.push_back(id);
      }
    }
    for (const Node* node : cluster.owned) {
      for (size_t i = 0; i < node->shapes.size(); ++i) {
        for (const int id : clusters_reading(Value(node, static_cast<int>(i)))) {
          const bool is_direct = from_start && id == to;
          if ((!is_direct || direct_counts) && seen.insert(id).second &&
              order_.at(clusters_.at(id).nodes.front()) <= newest) {
            pending.push_back(id);
          }
        }
      }
    }
  };
  push_readers(clusters_.at(from), true);
  while (!pending.empty()) {
    const int id = pending.back();
    pending.pop_back();
    if (id == to) {
      return true;
    }
    push_readers(clusters_.at(id), false);
  }
  return false;
}

/// Rules that hold whatever the loops are.
std::optional<std::string> Fusion::refuse(const Cluster& producer, const Cluster& consumer) const {
  if (producer.nodes.size() + consumer.nodes.size() > kMostNodes ||
      producer.nest.cost + consumer.nest.cost > kMostCost) {
    return "the kernel is large enough";
  }
  for (const Node* node : consumer.nodes) {
    for (const Value& operand : roles_.operands(*node)) {
      if (!producer.members.contains(&operand.node())) {
        continue;
      }
      if (state_.contains(operand)) {
        return std::string(kOwnUpdate);
      }
      if (reads_elements_often(*node) && !node->as<Contract>()) {
        return fmt::format("{} reads every element several times", op_name(node->op));
      }
      if (node->as<Concat>() && producer.nest.reduces) {
        return "what it reduces would be computed for every part";
      }
      if (node->as<Gather>() && operand == node->inputs[0] && !operand.node().as<Map>()) {
        return "gather reads at computed positions";
      }
    }
  }
  return std::nullopt;
}

/// One operation on elements that the producer, all maps too, has at hand: it fits whatever the loops are. Building the
/// kernel for every such operation would take time that grows with the square of a chain's length.
bool Fusion::is_plain_map(const Cluster& producer, const Cluster& consumer) const {
  const Node& node = *consumer.nodes[0];
  if (consumer.nodes.size() != 1 || !node.as<Map>() || producer.nest.reduces || !producer.has_one_shape ||
      !same_sizes(node, *producer.nodes[0])) {
    return false;
  }
  const auto is_number = [](const Value& operand) {
    const auto* broadcast = operand.node().as<Broadcast>();
    const Value& source = broadcast ? operand.node().inputs[0] : operand;
    return source.node().as<Constant>() && source.shape().element_count() == Extent(1);
  };
  return std::ranges::all_of(node.inputs, [&](const Value& operand) {
    return is_number(operand) || roles_.of(operand.node()) == NodeRole::leaf ||
           producer.members.contains(&operand.node());
  });
}

/// `merged` in the place of both.
void Fusion::take(Cluster merged, int producer, int consumer) {
  const Cluster& p = clusters_.at(producer);
  const Cluster& c = clusters_.at(consumer);
  for (const Node* node : merged.owned) {
    owner_[node] = consumer;
  }
  for (const Node* node : merged.members) {
    std::vector<int>& homes = homes_[node];
    std::erase_if(homes, [&](int id) { return id == producer || id == consumer; });
    homes.push_back(consumer);
  }
  merged.apart = p.apart;
  merged.apart.insert(merged.apart.end(), c.apart.begin(), c.apart.end());
  merged.boundary = c.boundary.empty() ? p.boundary : c.boundary;
  clusters_.erase(producer);
  clusters_[consumer] = std::move(merged);
}

/// What two clusters are as one, or why they stay two.
std::variant<Cluster, std::string> Fusion::merged(const Cluster& p, const Cluster& c, bool must_save_loads) const {
  if (auto why = refuse(p, c)) {
    return *why;
  }
  if (must_save_loads ? has_path(p.id, c.id, true) || has_path(c.id, p.id, true)
                      : has_path(p.id, c.id, false, order_.at(c.nodes.back()))) {
    return std::string(kBetween);
  }
  Cluster merged{
      .id = c.id, .nodes = p.nodes, .members = p.members, .owned = p.owned, .nest = {}, .apart = {}, .boundary = {}};
  for (const Node* node : c.nodes) {
    if (merged.members.insert(node).second) {
      merged.nodes.push_back(node);
    }
  }
  merged.owned.insert(c.owned.begin(), c.owned.end());
  merged.has_one_shape = p.has_one_shape && c.has_one_shape && same_sizes(*p.nodes[0], *c.nodes[0]);
  std::ranges::sort(merged.nodes, {}, [&](const Node* node) { return order_.at(node); });
  if (!must_save_loads && is_plain_map(p, c)) {
    merged.nest = p.nest;
    merged.nest.loads += c.nest.loads;
    merged.nest.cost += c.nest.cost;
    merged.is_stale = true;
    return merged;
  }
  auto built = build(merged.members, outputs_of(merged.owned, {p.id, c.id}));
  if (const auto* refusal = std::get_if<Refusal>(&built)) {
    return refusal->why;
  }
  merged.nest = std::move(std::get<Nest>(built));
  if (!merged.nest.repeats.empty() && p.nest.repeats.empty() && c.nest.repeats.empty()) {
    return fmt::format("{} would be computed again and again", merged.nest.repeats);
  }
  if ((p.nest.winograd > 0 || c.nest.winograd > 0) && merged.nest.winograd == 0) {
    return "a convolution in Winograd's form takes no such loops, and would multiply more than twice as often";
  }
  if (must_save_loads && merged.nest.loads >= p.nest.loads + c.nest.loads) {
    return "in one kernel, no load of the one would be a load of the other";
  }
  if (must_save_loads && merged.nest.product_loops < std::max(p.nest.product_loops, c.nest.product_loops)) {
    return "a product would become plain loops";
  }
  if (must_save_loads && needs_much_scratch(merged.nest)) {
    return "what its products store would leave no room in a cache";
  }
  return merged;
}

bool Fusion::try_merge(int producer, int consumer, bool must_save_loads) {
  Cluster& p = clusters_.at(producer);
  const Cluster& c = clusters_.at(consumer);
  auto result = merged(p, c, must_save_loads);
  const auto* why = std::get_if<std::string>(&result);
  AttemptLog::record([&] {
    return FusionAttempt{.rule = must_save_loads ? kSiblingRule : kOperandRule,
                         .first = p.nodes,
                         .second = c.nodes,
                         .joined = why == nullptr,
                         .finding = why == nullptr ? "" : *why};
  });
  if (why == nullptr) {
    take(std::get<Cluster>(std::move(result)), producer, consumer);
  } else if (!must_save_loads) {
    const auto reads = [&](const Node* node) {
      const std::vector<Value>& operands = roles_.operands(*node);
      return std::ranges::any_of(operands, [&](const Value& value) { return p.owned.contains(&value.node()); });
    };
    const auto reader = std::ranges::find_if(c.nodes, reads);
    p.apart.push_back({.reader = reader == c.nodes.end() ? c.nodes.front() : *reader,
                       .why = *why,
                       .nodes = p.nodes.size(),
                       .reader_nodes = c.nodes.size()});
  }
  return why == nullptr;
}

/// A loop that some cluster stores for others; those that everybody computes alone are nobody's.
bool Fusion::is_owned_loop(const Node& node) const {
  return roles_.of(node) == NodeRole::loop && clusters_.contains(owner_.at(&node));
}

void Fusion::fuse_producers() {
  for (const Node* node : graph_.nodes()) {
    if (!is_owned_loop(*node)) {
      continue;
    }
    for (const Value& operand : roles_.operands(*node)) {
      if (is_owned_loop(operand.node()) && owner_.at(&operand.node()) != owner_.at(node)) {
        try_merge(owner_.at(&operand.node()), owner_.at(node), false);
      }
    }
  }
  rebuild_stale();
}

void Fusion::rebuild_stale() {
  for (auto& [id, cluster] : clusters_) {
    if (cluster.is_stale) {
      auto built = build(cluster.members, outputs_of(cluster.owned, {}));
      TENON_CHECK(std::holds_alternative<Nest>(built), "{}", std::get<Refusal>(built).why);
      cluster.nest = std::get<Nest>(std::move(built));
      cluster.is_stale = false;
    }
  }
}

double Fusion::bytes(const Value& value, int64_t size) const {
  double total = static_cast<double>(byte_size(value.dtype()));
  for (const Axis& axis : value.shape().axes()) {  // a product of all might leave 64 bits
    try {
      total *= static_cast<double>(axis.extent().evaluate([&](std::string_view) { return size; }));
    } catch (const NotRepresentable&) {  // beyond 64 bits here, which it need not be when it is bound
      return std::numeric_limits<double>::infinity();
    }
  }
  return total;
}

std::set<int> Fusion::clusters_reading(const Value& value) const {
  std::set<int> found;
  const auto readers = readers_.find(value);
  if (readers == readers_.end()) {
    return found;
  }
  for (const Node* reader : readers->second) {
    for (const int id : homes_.at(reader)) {
      if (!clusters_.at(id).members.contains(&value.node())) {
        found.insert(id);
      }
    }
  }
  return found;
}

}  // namespace tenon::schedule
