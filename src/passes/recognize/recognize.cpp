#include "passes/recognize/recognize.h"

#include <algorithm>
#include <ranges>
#include <unordered_map>
#include <unordered_set>

#include "base/refused.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/uniform.h"
#include "passes/rewriting/users.h"
#include "tenon/error.h"

namespace tenon::passes {
namespace {

using NodeSet = std::unordered_set<const Node*>;

/// The nodes between `operands` and `root`, root included. Left out is what others may read too at no cost: views of
/// operands, and what only constants lead to. Nothing when there is a way from an input around the operands.
std::optional<NodeSet> between(const std::vector<Value>& operands, const Node& root) {
  NodeSet inside;
  NodeSet known;
  NodeSet viewed;
  NodeSet visited;
  const auto is_operand = [&](const Value& value) { return std::ranges::find(operands, value) != operands.end(); };
  const auto is_known = [&](const Value& value) { return known.contains(&value.node()) && !is_operand(value); };
  std::vector<std::pair<const Node*, bool>> pending{{&root, false}};
  while (!pending.empty()) {
    const auto [node, returning] = pending.back();
    pending.pop_back();
    if (returning) {
      const bool is_view =
          as_view(node->op) && (is_operand(node->inputs[0]) || viewed.contains(&node->inputs[0].node()));
      NodeSet& kind = is_view ? viewed : std::ranges::all_of(node->inputs, is_known) ? known : inside;
      kind.insert(node);
      continue;
    }
    if (!visited.insert(node).second) {
      continue;
    }
    if (node->as<Input>() != nullptr) {
      return std::nullopt;
    }
    pending.emplace_back(node, true);
    for (const Value& value : node->inputs) {
      if (!is_operand(value)) {
        pending.emplace_back(&value.node(), false);
      }
    }
  }
  return inside;
}

/// Nobody outside reads what is inside, but for the root.
bool is_closed(const NodeSet& inside, const Node& root, const Users& users) {
  return std::ranges::all_of(inside, [&](const Node* node) {
    const bool read_inside =
        std::ranges::all_of(users.of(*node), [&](const Node* user) { return inside.contains(user); });
    return node == &root || (read_inside && !users.is_output(*node));
  });
}

std::unordered_map<const Node*, Recognized> find_all(const Graph& graph, Recognizer find) {
  const Users users(graph);
  NodeSet taken;
  std::unordered_map<const Node*, Recognized> results;
  for (const Node* node : std::views::reverse(graph.nodes())) {
    // Of half types every step rounds, and a composite rounds less: not the same result.
    const Dtype dtype = node->shapes[0].dtype();
    if (taken.contains(node) || node->shapes.size() != 1 || compute_dtype(dtype) != dtype) {
      continue;
    }
    std::optional<Recognized> found = find(Value(node, 0));
    const std::optional<NodeSet> inside = found ? between(found->operands, *node) : std::nullopt;
    if (inside && is_closed(*inside, *node, users)) {
      taken.insert(inside->begin(), inside->end());
      results.emplace(node, std::move(*found));
    }
  }
  return results;
}

}  // namespace

Graph recognize(Graph graph, Recognizer find) {
  const auto results = find_all(graph, find);
  if (results.empty()) {
    return graph;
  }
  std::unordered_map<Value, Value> now;  // every operand of the nodes so far, in the new graph
  return rewrite(graph, [&](const Node& node, const std::vector<Value>& operands) -> std::optional<std::vector<Value>> {
    for (size_t i = 0; i < operands.size(); ++i) {
      now.insert_or_assign(node.inputs[i], operands[i]);
    }
    const auto found = results.find(&node);
    if (found == results.end()) {
      return std::nullopt;
    }
    std::vector<Value> replaced;
    for (const Value& operand : found->second.operands) {
      replaced.push_back(now.at(operand));
    }
    try {
      const auto built = relabelled(found->second.build(replaced), node.shapes[0]);
      return built ? std::optional(std::vector{*built}) : std::nullopt;
    } catch (const Refused&) {
      return std::nullopt;  // the builder is stricter than what was written out
    }
  });
}

}  // namespace tenon::passes
