#include "passes/inline_calls.h"

#include "passes/rewriting/rewrite.h"

namespace tenon::passes {

Graph inline_calls(Graph graph) {
  return rewrite(graph, [](const Node& node, const std::vector<Value>& operands) -> std::optional<std::vector<Value>> {
    if (const auto* call = node.as<Call>()) {
      return inline_graph(inline_calls(call->body), operands);
    }
    return std::nullopt;
  });
}

}  // namespace tenon::passes
