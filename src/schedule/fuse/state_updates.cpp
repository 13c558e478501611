#include "schedule/fuse/state_updates.h"

#include <algorithm>
#include <ranges>

namespace tenon::schedule {
namespace {

/// Through slices of neighbours and transposes every element of what is written has a place that its loops say.
bool is_placed(const Update& update) {
  return std::ranges::all_of(update.path, [](const View& view) {
    const auto* slice = std::get_if<Slice>(&view);
    return std::holds_alternative<Transpose>(view) ||
           (slice != nullptr && std::ranges::all_of(slice->step, [](int64_t step) { return step == 1; }));
  });
}

/// The updates between an input and the output that is to take its memory, the first one first; none where there is
/// anything else between them.
std::vector<Value> chain_of(const Value& input, Value value) {
  std::vector<Value> chain;
  while (value != input) {
    const auto* update = value.node().as<Update>();
    if (update == nullptr || !is_placed(*update)) {
      return {};
    }
    chain.push_back(value);
    value = value.node().inputs[0];
  }
  std::ranges::reverse(chain);
  return chain;
}

Value without_views(Value value) {
  while (as_view(value.node().op)) {
    value = value.node().inputs[0];
  }
  return value;
}

/// Graph nodes that run, what each waits for because of data, and what has to be read before it is overwritten.
class Order {
 public:
  Order(const Graph& graph, const Roles& roles) : graph_(graph), roles_(roles) {
    for (const Node* node : graph.nodes()) {
      if (runs(*node)) {
        for (const Value& operand : roles.operands(*node)) {
          readers_[operand].push_back(node);
        }
      }
    }
  }

  const std::vector<const Node*>& readers(const Value& value) const {
    static const std::vector<const Node*> none;
    const auto found = readers_.find(value);
    return found == readers_.end() ? none : found->second;
  }

  /// Whether all nodes can be run if, of each pair, the second waits for the first too.
  bool is_possible(const std::vector<std::pair<const Node*, const Node*>>& pairs) const {
    std::unordered_map<const Node*, std::vector<const Node*>> after;
    std::unordered_map<const Node*, size_t> waits;
    const auto add = [&](const Node* first, const Node* second) {
      after[first].push_back(second);
      ++waits[second];
    };
    size_t count = 0;
    for (const Node* node : graph_.nodes()) {
      count += runs(*node) ? 1U : 0U;
      for (size_t i = 0; i < node->shapes.size(); ++i) {
        for (const Node* reader : readers(Value(node, static_cast<int>(i)))) {
          if (runs(*node)) {
            add(node, reader);
          }
        }
      }
    }
    for (const auto& [first, second] : pairs) {
      add(first, second);
    }
    std::vector<const Node*> ready;
    for (const Node* node : graph_.nodes()) {
      if (runs(*node) && !waits.contains(node)) {
        ready.push_back(node);
      }
    }
    size_t done = 0;
    while (!ready.empty()) {
      const Node* node = ready.back();
      ready.pop_back();
      ++done;
      for (const Node* later : after[node]) {
        if (--waits[later] == 0) {
          ready.push_back(later);
        }
      }
    }
    return done == count;
  }

 private:
  bool runs(const Node& node) const {
    const NodeRole role = roles_.of(node);
    return role == NodeRole::loop || role == NodeRole::alone;
  }

  const Graph& graph_;
  const Roles& roles_;
  std::unordered_map<Value, std::vector<const Node*>> readers_;
};

/// What is read, in the end, to make a value that is not stored itself.
bool reads_any(const Value& value, const std::unordered_set<Value>& of, const Roles& roles) {
  if (of.contains(value)) {
    return true;
  }
  return roles.of(value.node()) == NodeRole::folded &&
         std::ranges::any_of(value.node().inputs, [&](const Value& operand) { return reads_any(operand, of, roles); });
}

/// Whether the chain of an input may be written in its memory, whatever the order of steps.
bool may_be_in_place(const Graph& graph, const Roles& roles, const Value& input, const std::vector<Value>& chain) {
  std::unordered_set<Value> all(chain.begin(), chain.end());
  all.insert(input);
  for (const Output& output : graph.outputs()) {
    // Outputs are read when all has run.
    const Value seen = without_views(output.value);
    if (seen != chain.back() && (seen == input || all.contains(output.value))) {
      return false;
    }
  }
  for (const Value& number : roles.stored_folded()) {  // these run with the first step, whatever that is
    if (reads_any(number, all, roles)) {
      return false;
    }
  }
  return std::ranges::all_of(chain, [&](const Value& update) {
    return roles.storage().of(update) == nullptr && roles.of(update.node()) == NodeRole::loop &&
           !reads_any(StateUpdates::stored(update), all, roles);
  });
}

}  // namespace

StateUpdates::StateUpdates(const Graph& graph, const Roles& roles) {
  std::vector<int> aliased;
  for (const Output& output : graph.outputs()) {
    aliased.push_back(output.aliases);
  }
  std::optional<Order> order;
  std::vector<std::pair<const Node*, const Node*>> pairs;  // reader, writer
  for (const Output& output : graph.outputs()) {
    if (output.aliases < 0 || std::ranges::count(aliased, output.aliases) != 1) {
      continue;
    }
    const Value& input = graph.inputs()[static_cast<size_t>(output.aliases)];
    const std::vector<Value> chain = chain_of(input, output.value);
    if (chain.empty() || !may_be_in_place(graph, roles, input, chain)) {
      continue;
    }
    if (!order) {
      order.emplace(graph, roles);
    }
    const size_t before = pairs.size();
    Value value = input;
    for (const Value& update : chain) {
      for (const Node* reader : order->readers(value)) {
        if (reader != &update.node()) {
          pairs.emplace_back(reader, &update.node());
        }
      }
      value = update;
    }
    if (pairs.size() != before && !order->is_possible(pairs)) {
      pairs.resize(before);
      continue;
    }
    value = input;
    for (const Value& update : chain) {
      memory_.emplace(update, input);
      next_.emplace(value, &update.node());
      value = update;
    }
  }
}

}  // namespace tenon::schedule
