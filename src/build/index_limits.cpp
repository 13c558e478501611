#include "build/index_limits.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "ir/node.h"
#include "passes/inline_calls.h"

namespace tenon {
namespace {

/// The inputs that each integer value is made of.
using Sources = std::unordered_map<const Node*, std::set<size_t>>;

/// How many operands of a node stand before its positions, and the axes that these are along.
struct Positions {
  size_t first = 0;
  std::vector<int> axes;
};

std::optional<Positions> positions_of(const Node& node) {
  if (const auto* gather = node.as<Gather>()) {
    return Positions{.first = 1, .axes = gather->axes};
  }
  if (const auto* scatter = node.as<Scatter>()) {
    return Positions{.first = 2, .axes = scatter->axes};
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::optional<Extent>> index_limits(const Graph& graph) {
  const Graph flat = passes::inline_calls(graph);
  std::vector<std::optional<Extent>> limits(flat.inputs().size());
  Sources sources;
  for (size_t i = 0; i < flat.inputs().size(); ++i) {
    if (is_integer(flat.inputs()[i].dtype())) {
      sources[&flat.inputs()[i].node()].insert(i);
    }
  }
  for (const Node* node : flat.nodes()) {
    const auto positions = positions_of(*node);
    for (size_t k = 0; k < node->inputs.size(); ++k) {
      const auto from = sources.find(&node->inputs[k].node());
      if (from == sources.end()) {
        continue;
      }
      if (positions && k >= positions->first) {
        const Extent size = node->inputs[0].extent(positions->axes[k - positions->first]);
        for (const size_t input : from->second) {
          limits[input] = limits[input] ? min(*limits[input], size) : size;
        }
      } else if (node->as<If>() == nullptr && node->as<Loop>() == nullptr && is_integer(node->shapes[0].dtype())) {
        const std::set<size_t> copy = from->second;  // the map may move what it holds
        sources[node].insert(copy.begin(), copy.end());
      }
    }
  }
  return limits;
}

}  // namespace tenon
