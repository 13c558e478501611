#include "passes/inline_calls.h"

#include "ops/builders/few_bits.h"
#include "passes/rewriting/rewrite.h"

namespace tenon::passes {

namespace {

Graph inlined(const Graph& graph, bool but_routines) {
  return rewrite(graph, [&](const Node& node, const std::vector<Value>& operands) -> std::optional<std::vector<Value>> {
    const auto* call = node.as<Call>();
    if (call == nullptr || (but_routines && few_bits_routine(call->body))) {
      return std::nullopt;
    }
    return inline_graph(inlined(call->body, but_routines), operands);
  });
}

}  // namespace

Graph inline_calls(Graph graph) { return inlined(graph, false); }

Graph inline_composites(Graph graph) { return inlined(graph, true); }

}  // namespace tenon::passes
