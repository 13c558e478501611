#include "mesh/split/tail.h"

#include "ir/node.h"
#include "mesh/split/ways.h"

namespace tenon::mesh {

std::unordered_set<const Node*> tail_of(const Graph& graph) {
  std::unordered_set<const Node*> tail;
  std::unordered_set<const Node*> is_needed;  // by something else
  const auto& nodes = graph.nodes();
  for (auto each = nodes.rbegin(); each != nodes.rend(); ++each) {
    const Node& node = **each;
    if (is_elementwise(node) && !is_needed.contains(&node)) {
      tail.insert(&node);
      continue;
    }
    for (const Value& operand : node.inputs) {
      is_needed.insert(&operand.node());
    }
  }
  return tail;
}

}  // namespace tenon::mesh
