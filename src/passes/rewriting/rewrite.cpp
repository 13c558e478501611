#include "passes/rewriting/rewrite.h"

#include "ir/unify_names.h"
#include "ir/walk.h"
#include "ops/make.h"
#include "passes/rewriting/canonicalize.h"

namespace tenon::passes {
namespace {

std::vector<Value> replace_all(const std::vector<Value>& values, const std::unordered_map<Value, Value>& by) {
  std::vector<Value> result;
  result.reserve(values.size());
  for (const Value& value : values) {
    result.push_back(by.at(value));
  }
  return result;
}

Extent substituted(const Extent& x, const Substitution& by) { return x.substitute(by); }
Axis substituted(const Axis& x, const Substitution& by) { return x.substitute(by); }
Shape substituted(const Shape& x, const Substitution& by) { return x.substitute(by); }
Graph substituted(const Graph& x, const Substitution& by) { return rename_axes(x, by); }
View substituted(const View& x, const Substitution& by) { return *as_view(substitute(as_op(x), by)); }

template <class T>
T substituted(const T& x, const Substitution&) {
  return x;
}

template <class T>
std::vector<T> substituted(const std::vector<T>& list, const Substitution& by) {
  std::vector<T> result;
  result.reserve(list.size());
  for (const T& item : list) {
    result.push_back(substituted(item, by));
  }
  return result;
}

}  // namespace

std::vector<Value> rewrite_values(const std::vector<Value>& roots, std::unordered_map<Value, Value> known,
                                  const RewriteRule& rule) {
  for (const Node* node : topological_order(roots)) {
    if (known.contains(Value(node, 0))) {
      continue;
    }
    const Place place(node->place);
    std::vector<Value> operands = replace_all(node->inputs, known);
    std::optional<std::vector<Value>> replaced = rule(*node, operands);
    if (!replaced) {
      const bool same = operands == node->inputs;
      replaced.emplace();
      if (same) {
        for (size_t i = 0; i < node->shapes.size(); ++i) {
          replaced->emplace_back(node, static_cast<int>(i));
        }
      } else {
        replaced = make_all(node->op, std::move(operands));
      }
    }
    for (size_t i = 0; i < node->shapes.size(); ++i) {
      known.emplace(Value(node, static_cast<int>(i)), (*replaced)[i]);
    }
  }
  return replace_all(roots, known);
}

Graph rewrite(const Graph& graph, const RewriteRule& rule) {
  std::vector<Value> roots;
  for (const Output& out : graph.outputs()) {
    roots.push_back(out.value);
  }
  std::unordered_map<Value, Value> known;
  for (const Value& in : graph.inputs()) {
    known.emplace(in, in);
  }
  // Names that were allowed to meet when the graph was built may meet again.
  const UnifyNames lenient;
  const std::vector<Value> values = rewrite_values(roots, std::move(known), rule);
  std::vector<Output> outputs = graph.outputs();
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].value = values[i];
  }
  return {graph.name(), graph.inputs(), std::move(outputs), graph.relations()};
}

std::vector<Value> inline_graph(const Graph& body, const std::vector<Value>& operands) {
  std::unordered_map<Value, Value> known;
  for (size_t i = 0; i < operands.size(); ++i) {
    known.emplace(body.inputs()[i], operands[i]);
  }
  std::vector<Value> roots;
  for (const Output& out : body.outputs()) {
    roots.push_back(out.value);
  }
  const UnifyNames lenient;
  return rewrite_values(roots, std::move(known), [](const Node&, const auto&) { return std::nullopt; });
}

Op substitute(const Op& op, const Substitution& by) {
  Op result = op;
  std::visit(
      [&](auto& kind) { for_each_field(kind, [&](std::string_view, auto& field) { field = substituted(field, by); }); },
      result);
  return result;
}

}  // namespace tenon::passes
