#include "passes/sink_constants.h"

#include <algorithm>
#include <iterator>

#include "ops/make.h"
#include "passes/rewriting/rewrite.h"

namespace tenon::passes {
namespace {

using Replaced = std::optional<std::vector<Value>>;

bool is_constant(const Value& value) { return value.node().as<Constant>() != nullptr; }

/// `body` with constants among `operands` in the place of its inputs from `first` on, which are those operands.
Graph with_constants(const Graph& body, size_t first, const std::vector<Value>& operands) {
  std::vector<Value> inputs(body.inputs().begin(), body.inputs().begin() + static_cast<std::ptrdiff_t>(first));
  std::vector<Value> given = inputs;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Value& own = body.inputs()[first + i];
    given.push_back(is_constant(operands[i]) ? operands[i] : own);
    if (!is_constant(operands[i])) {
      inputs.push_back(own);
    }
  }
  const std::vector<Value> values = inline_graph(body, given);
  std::vector<Output> outputs = body.outputs();
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].value = values[i];
    outputs[i].aliases = -1;
  }
  return {body.name(), std::move(inputs), std::move(outputs), body.relations()};
}

/// From the operands that every trip gets, or each branch: the first `first` are something else.
Replaced sink(Op op, size_t first, const std::vector<Value>& operands) {
  const std::vector<Value> shared(operands.begin() + static_cast<std::ptrdiff_t>(first), operands.end());
  std::vector<Value> left(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(first));
  std::ranges::copy_if(shared, std::back_inserter(left), [](const Value& value) { return !is_constant(value); });
  if (left.size() == operands.size()) {
    return {};
  }
  if (auto* loop = std::get_if<Loop>(&op)) {
    loop->body = with_constants(loop->body, 1 + first, shared);
  } else if (auto* branch = std::get_if<If>(&op)) {
    branch->then_body = with_constants(branch->then_body, 0, shared);
    branch->else_body = with_constants(branch->else_body, 0, shared);
  }
  return make_all(std::move(op), left);
}

}  // namespace

Graph sink_constants(Graph graph) {
  return rewrite(graph, [](const Node& node, const std::vector<Value>& operands) -> Replaced {
    if (const auto* loop = node.as<Loop>()) {
      return sink(*loop, static_cast<size_t>(loop->carried) + static_cast<size_t>(loop->scanned), operands);
    }
    return node.as<If>() != nullptr ? sink(node.op, 1, operands) : std::nullopt;
  });
}

}  // namespace tenon::passes
