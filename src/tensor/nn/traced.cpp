#include "tenon/traced.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/fail.h"
#include "passes/rewriting/rewrite.h"
#include "tenon/autograd.h"
#include "tenon/ops.h"
#include "tensor/realize/pending.h"
#include "tensor/realize/plain_names.h"
#include "tensor/realize/realize.h"
#include "tensor/record/cell.h"
#include "tensor/record/leaf.h"

namespace tenon {

using namespace tensors;

namespace {

/// What a leaf of the recorded graph is called: an input, or a weight.
struct NamedLeaf {
  Value value;
  std::string name;
  Array array;  // of a weight
};

/// Leaves of the examples' elements and axes: what the function is called with.
std::vector<NamedLeaf> example_leaves(const nn::NamedTensors& examples) {
  std::vector<NamedLeaf> leaves;
  for (const auto& [name, example] : examples) {
    const Array array = realize_tensors({example}, "trace()", {}).front();
    leaves.push_back({.value = make_leaf(array, example.shape()), .name = name, .array = {}});
  }
  return leaves;
}

/// The module's weights. All are computed: their cells hold leaves, or values whose elements are known.
std::vector<NamedLeaf> weight_leaves(const nn::Module& module) {
  nn::NamedTensors all = module.named_parameters();
  std::ranges::move(module.named_buffers(), std::back_inserter(all));
  std::vector<Tensor> tensors;
  for (const auto& [name, tensor] : all) {
    tensors.push_back(tensor);
  }
  const std::vector<Array> arrays = realize_tensors(tensors, "trace()", {});
  std::vector<NamedLeaf> leaves;
  for (size_t i = 0; i < all.size(); ++i) {
    leaves.push_back({resolve(Access::handle(all[i].second).value()), all[i].first, arrays[i]});
  }
  return leaves;
}

std::vector<Value> called(const TensorFunction& f, const std::vector<NamedLeaf>& inputs) {
  std::vector<Tensor> arguments;
  for (const NamedLeaf& in : inputs) {
    arguments.push_back(new_tensor(in.value, false, 0));
  }
  const EnableGrad with;  // so that weights are read as what they are
  std::vector<Value> results;
  for (const Tensor& result : f(arguments)) {
    results.push_back(Access::handle(result).value());
  }
  if (results.empty()) {
    fail("trace: the function gives no tensors");
  }
  return results;
}

std::string output_name(const TraceOptions& options, size_t i, size_t count) {
  if (!options.outputs.empty()) {
    if (options.outputs.size() != count) {
      fail("trace: {} names of outputs, and there are {} outputs", options.outputs.size(), count);
    }
    return options.outputs[i];
  }
  return count == 1 ? "output" : fmt::format("output{}", i);
}

}  // namespace

TracedModel trace(const nn::Module& module, const TensorFunction& f, const nn::NamedTensors& examples,
                  const TraceOptions& options) {
  const std::vector<NamedLeaf> data = example_leaves(examples);
  const std::vector<NamedLeaf> weights = weight_leaves(module);
  const std::vector<Value> results = [&] {
    const nn::Module::EvalScope eval(module);
    return called(f, data);
  }();
  // Inputs come first, needed or not, so that the graph takes what the examples give.
  std::vector<Value> roots;
  std::ranges::transform(data, std::back_inserter(roots), &NamedLeaf::value);
  roots.insert(roots.end(), results.begin(), results.end());
  const Pending pending(roots);
  std::unordered_map<Value, const NamedLeaf*> names;
  for (const auto* list : {&data, &weights}) {
    for (const NamedLeaf& leaf : *list) {
      names.emplace(leaf.value, &leaf);
    }
  }
  TracedModel traced;
  std::unordered_map<std::string, Value> inputs;
  const Pending plain = with_names(pending, plain_names(names_of(pending)), [&](size_t i, const Shape& shape) -> Value {
    const Value& leaf = pending.leaf(i);
    const auto found = names.find(leaf);
    if (found == names.end()) {
      return reshape(constant(elements_of(leaf)), shape.axes());
    }
    return inputs.emplace(found->second->name, input(found->second->name, shape)).first->second;
  });
  std::vector<Value> listed;
  for (const NamedLeaf& in : data) {
    listed.push_back(inputs.at(in.name));
  }
  for (const NamedLeaf& weight : weights) {
    if (const auto found = inputs.find(weight.name); found != inputs.end()) {
      listed.push_back(found->second);
      traced.weights.emplace_back(weight.name, weight.array);
    }
  }
  std::vector<Output> outputs;
  for (size_t i = 0; i < results.size(); ++i) {
    outputs.push_back({output_name(options, i, results.size()), plain.at(plain.roots()[data.size() + i])});
  }
  traced.graph = Graph(options.name, std::move(listed), std::move(outputs));
  return traced;
}

Graph TracedModel::with_weights() const {
  const size_t data = graph.inputs().size() - weights.size();
  std::vector<Value> operands = graph.inputs();
  for (size_t i = 0; i < weights.size(); ++i) {
    operands[data + i] = reshape(constant(weights[i].second), graph.inputs()[data + i].shape().axes());
  }
  std::vector<Output> outputs = graph.outputs();
  const std::vector<Value> results = passes::inline_graph(graph, operands);
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].value = results[i];
  }
  operands.resize(data);
  return {graph.name(), std::move(operands), std::move(outputs), graph.relations()};
}

}  // namespace tenon
