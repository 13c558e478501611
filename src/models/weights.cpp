// First values of weights, and models with their weights inside.
#include <cmath>

#include "base/fail.h"
#include "base/hash.h"
#include "base/pool.h"
#include "ops/make.h"
#include "passes/rewriting/rewrite.h"
#include "tenon/models.h"
#include "tenon/ops.h"

namespace tenon {

constexpr int64_t kElementsAtOnce = 1 << 16;  // of weights that threads share

int64_t Model::parameter_count() const {
  int64_t count = 0;
  for (const Parameter& parameter : parameters) {
    count += parameter.trainable ? parameter.size() : 0;
  }
  return count;
}

Array initial_value(const Parameter& parameter) {
  const Dtype dtype = parameter.shape.dtype();
  if (parameter.init == Init::zeros) {
    return Array(dtype, parameter.shape.dims());
  }
  if (parameter.init == Init::ones) {
    return Array::full(dtype, parameter.shape.dims(), 1);
  }
  Array value = Array::uninitialized(dtype, parameter.shape.dims());
  // Uniform of the wanted deviation, from a hash of name and position: no order of generation to keep.
  const uint64_t key = hash_bytes(parameter.name);
  const double width = parameter.scale * std::sqrt(3.0);
  auto elements = value.mutable_values<float>();
  const auto fill = [&](int64_t begin, int64_t end, int /*worker*/) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      const double unit = static_cast<double>(combine_hash(key, i) >> 11) * 0x1p-53;
      elements[i] = static_cast<float>((2 * unit - 1) * width);
    }
  };
  Pool::shared().parallel_for(value.size(), kElementsAtOnce, fill);
  return value;
}

std::vector<Array> initial_values(const Model& model) {
  std::vector<Array> values;
  values.reserve(model.parameters.size());
  for (const Parameter& parameter : model.parameters) {
    values.push_back(initial_value(parameter));
  }
  return values;
}

Graph with_weights(const Model& model) { return with_weights(model, initial_values(model)); }

Graph with_weights(const Model& model, const std::vector<Array>& values) {
  if (values.size() != model.parameters.size()) {
    fail("`{}` has {} parameters, and {} values are given", model.graph.name(), model.parameters.size(), values.size());
  }
  const auto& inputs = model.graph.inputs();
  std::vector<Value> data(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(model.data_inputs));
  std::vector<Value> operands = data;
  for (size_t i = 0; i < values.size(); ++i) {
    const Parameter& parameter = model.parameters[i];
    if (values[i].dtype() != parameter.shape.dtype() || values[i].dims() != parameter.shape.dims()) {
      fail("parameter `{}` is {}, and its value {}", parameter.name, parameter.shape.to_string(),
           Shape(values[i].dtype(), {values[i].dims().begin(), values[i].dims().end()}).to_string());
    }
    // A parameter's name is an axis of nothing: the constant has the same concrete shape.
    operands.push_back(reshape(constant(values[i]), parameter.shape.axes()));
  }
  std::vector<Output> outputs = model.graph.outputs();
  const std::vector<Value> results = passes::inline_graph(model.graph, operands);
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].value = results[i];
    if (outputs[i].aliases >= static_cast<int>(model.data_inputs)) {
      outputs[i].aliases = -1;  // a constant has no memory to take over
    }
  }
  return {model.graph.name(), std::move(data), std::move(outputs), model.graph.relations()};
}

}  // namespace tenon
