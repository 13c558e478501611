#include "passes/rewriting/canonicalize.h"

#include "ir/data_axes.h"
#include "ir/unify_names.h"
#include "ops/make.h"
#include "shape/constraint_set.h"
#include "tenon/ops.h"

namespace tenon::passes {

Graph rename_axes(const Graph& graph, const Substitution& by) {
  std::unordered_map<Value, Value> known;
  std::vector<Value> inputs;
  for (const Value& in : graph.inputs()) {
    const auto* op = in.node().as<Input>();
    const Shape shape = op->shape.substitute(by);
    inputs.push_back(shape == op->shape ? in : input(op->name, shape));
    known.emplace(in, inputs.back());
  }
  std::vector<Value> roots;
  for (const Output& out : graph.outputs()) {
    roots.push_back(out.value);
  }
  const UnifyNames lenient;
  const std::vector<Value> values =
      rewrite_values(roots, std::move(known), [&](const Node& node, const std::vector<Value>& operands) {
        return std::optional(make_all(substitute(node.op, by), operands));
      });
  std::vector<Output> outputs = graph.outputs();
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].value = values[i];
  }
  std::vector<Constraint> relations = graph.relations();
  for (Constraint& relation : relations) {
    relation.lhs = relation.lhs.substitute(by);
    relation.rhs = relation.rhs.substitute(by);
  }
  return {graph.name(), std::move(inputs), std::move(outputs), std::move(relations)};
}

Graph canonicalize(Graph graph) {
  // An axis that data decide stays itself, whatever it turns out to be equal to: until then nobody knows.
  const AxisNames late = data_axes(graph);
  const ConstraintSet constraints = late.empty() ? graph.constraints() : graph.constraints().without(late);
  if (constraints.substitutions().empty()) {
    return graph;
  }
  return rename_axes(graph, constraints.substitutions());
}

}  // namespace tenon::passes
