#include "support/shrink_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "ir/node.h"
#include "passes/rewriting/rewrite.h"
#include "tenon/error.h"

namespace tenon {
namespace {

/// `output` alone, with an input in the place of `cut` if there is one. Nothing when that is no graph.
std::optional<RandomGraph> reduced(const RandomGraph& from, const Value& output, const Value& cut) {
  try {
    std::unordered_map<Value, Value> known;
    std::vector<Value> inputs = from.graph.inputs();
    for (const Value& in : inputs) {
      known.emplace(in, in);
    }
    Value result = output;
    if (cut) {
      inputs.push_back(input(fmt::format("cut{}", inputs.size()), cut.shape()));
      known.emplace(cut, inputs.back());
      result =
          passes::rewrite_values({output}, std::move(known), [](const Node&, const auto&) { return std::nullopt; })[0];
    }
    Tolerance widest;
    for (const Tolerance& each : from.tolerances) {
      widest.absolute = std::max(widest.absolute, each.absolute);
      widest.relative = std::max(widest.relative, each.relative);
    }
    const Graph whole(inputs, {{.name = "y", .value = result}});
    const std::vector<const Node*>& nodes = whole.nodes();
    std::erase_if(inputs, [&](const Value& in) {
      const bool is_read = std::ranges::any_of(
          nodes, [&](const Node* node) { return std::ranges::find(node->inputs, in) != node->inputs.end(); });
      return !is_read && in != result;
    });
    return RandomGraph{
        .graph = Graph(inputs, {{.name = "y", .value = result}}), .tolerances = {widest}, .special = from.special};
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

RandomGraph shrunk(const RandomGraph& random, const std::function<bool(const RandomGraph&)>& fails) {
  RandomGraph best = random;
  for (const Node* node : random.graph.nodes()) {
    const auto alone = reduced(random, Value(node, 0), {});
    if (alone && fails(*alone)) {
      best = *alone;
      break;
    }
  }
  if (best.graph.outputs().size() > 1) {
    return best;  // only together
  }
  for (bool smaller = true; smaller;) {
    smaller = false;
    const std::vector<const Node*> nodes = best.graph.nodes();
    for (size_t i = nodes.size(); i-- > 0 && !smaller;) {
      const Value output = best.graph.outputs()[0].value;
      if (nodes[i]->as<Input>() || nodes[i]->as<Constant>() || nodes[i] == &output.node()) {
        continue;
      }
      const auto without = reduced(best, output, Value(nodes[i], 0));
      if (without && without->graph.nodes().size() < nodes.size() + 1 && fails(*without)) {
        smaller = without->graph.nodes().size() < nodes.size();
        if (smaller) {
          best = *without;
        }
      }
    }
  }
  return best;
}

}  // namespace tenon
