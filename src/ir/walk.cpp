#include "ir/walk.h"

#include <algorithm>
#include <unordered_set>

namespace tenon {

std::vector<const Node*> topological_order(std::span<const Value> roots) {
  std::vector<const Node*> order;
  std::unordered_set<const Node*> seen;
  struct Frame {
    const Node* node;
    size_t next;  // the input to visit next
  };
  std::vector<Frame> stack;
  const auto visit = [&](const Node* node) {
    if (seen.insert(node).second) {
      stack.push_back({node, 0});
    }
  };
  for (const Value& root : roots) {
    visit(&root.node());
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next < top.node->inputs.size()) {
        visit(&top.node->inputs[top.next++].node());
      } else {
        order.push_back(top.node);
        stack.pop_back();
      }
    }
  }
  return order;
}

std::vector<Graph> called_graphs(const Node& node) {
  std::vector<Graph> graphs;
  std::visit(
      [&](const auto& kind) {
        for_each_field(kind, [&]<class Member>(std::string_view, const Member& member) {
          if constexpr (std::is_same_v<Member, Graph>) {
            graphs.push_back(member);
          }
        });
      },
      node.op);
  return graphs;
}

std::vector<Graph> reachable_graphs(const Graph& root) {
  // Bodies nest as deep as composites are built from composites: a handful, so recursion is fine.
  std::vector<Graph> order;
  const std::function<void(const Graph&)> visit = [&](const Graph& graph) {
    if (std::ranges::find(order, graph) != order.end()) {
      return;
    }
    for (const Node* node : graph.nodes()) {
      for (const Graph& body : called_graphs(*node)) {
        visit(body);
      }
    }
    order.push_back(graph);
  };
  visit(root);
  return order;
}

}  // namespace tenon
