#include "tenon/interpreter.h"

#include <fmt/format.h>

#include <new>
#include <unordered_map>

#include "base/fail.h"
#include "base/refused.h"
#include "interp/evaluate.h"
#include "ir/data_axes.h"
#include "shape/constraint_set.h"

namespace tenon {
namespace {

std::vector<ConcreteInput> describe_inputs(const Graph& graph, const Arrays& inputs, bool reference) {
  if (inputs.size() != graph.inputs().size()) {
    fail("graph `{}` takes {} inputs, not {}", graph.name(), graph.inputs().size(), inputs.size());
  }
  std::vector<ConcreteInput> described;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto* in = graph.inputs()[i].node().as<Input>();
    // The reference takes floats as exact as they are to be had.
    const bool exact = reference && is_float(in->shape.dtype()) && inputs[i].dtype() == Dtype::f64;
    described.push_back({.name = in->name,
                         .pattern = in->shape,
                         .dtype = exact ? in->shape.dtype() : inputs[i].dtype(),
                         .dims = inputs[i].dims()});
  }
  return described;
}

Bindings bind_described(const Graph& graph, const std::vector<ConcreteInput>& inputs, const Bindings& known) {
  Bindings bindings = extract(inputs);
  for (const auto& [name, size] : known) {
    bindings.set(name, size);
  }
  const AxisNames late = data_axes(graph);
  for (const std::string& name : late) {
    if (bindings.find(name)) {
      fail("axis `{}` cannot be given a size: data decide it", name);
    }
  }
  const ConstraintSet constraints = late.empty() ? graph.constraints() : graph.constraints().without(late);
  constraints.check(bindings);
  return constraints.complete(bindings);  // `out == in-kernel+1` binds out, which no input shows
}

/// Evaluates node by node and forgets each value after its last reader.
class Run {
 public:
  Run(const Graph& graph, Arrays inputs, Bindings bindings, bool reference)
      : graph_(graph), bindings_(std::move(bindings)), unbound_(data_axes(graph)), reference_(reference) {
    for (const Node* node : graph.nodes()) {
      for (const Value& value : node->inputs) {
        ++readers_[&value.node()];
      }
    }
    for (const Output& out : graph.outputs()) {
      ++readers_[&out.value.node()];
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Dtype dtype = inputs[i].dtype();
      const Dtype wanted = reference && is_float(dtype) ? Dtype::f64 : dtype;
      values_[&graph.inputs()[i].node()] = {inputs[i].cast(wanted)};
    }
  }

  Arrays outputs() {
    for (const Node* node : graph_.nodes()) {
      if (!node->as<Input>()) {
        step(*node);
      }
    }
    Arrays results;
    for (const Output& out : graph_.outputs()) {
      results.push_back(values_.at(&out.value.node())[static_cast<size_t>(out.value.output())]);
    }
    return results;
  }

 private:
  void step(const Node& node) {
    Evaluation evaluation{.node = node, .inputs = {}, .bindings = bindings_, .reference = reference_};
    for (const Value& value : node.inputs) {
      evaluation.inputs.push_back(values_.at(&value.node())[static_cast<size_t>(value.output())]);
    }
    for (const Value& value : node.inputs) {
      if (--readers_[&value.node()] == 0) {
        values_.erase(&value.node());
      }
    }
    try {
      const std::string bound = bound_axis(node);
      for (size_t i = 0; i < node.shapes.size() && bound.empty(); ++i) {
        Array::require_memory(Dtype::i64, evaluation.dims(i));  // views hold a position for each element
      }
      values_[&node] = std::visit([&](const auto& kind) { return evaluate(kind, evaluation); }, node.op);
      if (!bound.empty()) {
        bind(bound, values_[&node][0].size());
      }
    } catch (const std::bad_alloc&) {
      refuse("{}: no memory for {}", op_name(node.op), resolve(node.shapes[0], bindings_).to_string());
    } catch (Error& error) {
      if (!error.has_notes() && !node.place.empty()) {
        error.note(fmt::format("at node \"{}\"", node.place));
      }
      throw;
    }
  }

  /// Data have decided a size: what must hold of it, with what else is known by now, must hold from here on.
  void bind(const std::string& name, int64_t size) {
    bindings_.set(name, size);
    unbound_.erase(name);
    const ConstraintSet constraints = graph_.constraints().without(unbound_);
    constraints.check(bindings_);
    bindings_ = constraints.complete(bindings_);
  }

  const Graph& graph_;
  Bindings bindings_;
  AxisNames unbound_;  // names that data decide, before they have
  bool reference_;
  std::unordered_map<const Node*, int> readers_;
  std::unordered_map<const Node*, Arrays> values_;
};

}  // namespace

Arrays evaluate_graph(const Graph& graph, Arrays inputs, const Bindings& bindings, bool reference) {
  return Run(graph, std::move(inputs), bindings, reference).outputs();
}

std::vector<Array> interpret(const Graph& graph, const std::vector<Array>& inputs, const InterpretOptions& options) {
  const Bindings bindings = bind_described(graph, describe_inputs(graph, inputs, options.reference), options.bindings);
  return evaluate_graph(graph, inputs, bindings, options.reference);
}

Bindings bind(const Graph& graph, const std::vector<Array>& inputs, const Bindings& known) {
  return bind_described(graph, describe_inputs(graph, inputs, false), known);
}

}  // namespace tenon
