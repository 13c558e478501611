#include "support/finite_difference.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ir/node.h"
#include "ir/unify_names.h"
#include "support/arrays.h"
#include "tenon/autodiff.h"
#include "tenon/interpreter.h"
#include "tenon/ops.h"

namespace tenon {
namespace {

const std::string& name_of(const Value& in) { return in.node().as<Input>()->name; }

/// sum(output * weight) over the float outputs, the weights as further inputs.
Graph weighted_sum(const Graph& graph) {
  std::vector<Value> inputs = graph.inputs();
  Value total = scalar(f64, 0);
  const UnifyNames lenient;
  for (const Output& out : graph.outputs()) {
    if (is_float(out.value.dtype())) {
      inputs.push_back(input("w_" + out.name, out.value.shape()));
      total = total + cast(reduce_sum(out.value * inputs.back()), f64);
    }
  }
  return {graph.name(), inputs, {{"total", total}}, graph.relations()};
}

Array moved(const Array& x, const std::vector<double>& direction, double step) {
  Array result = x;
  const auto values = result.mutable_values<double>();
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] += step * direction[i];
  }
  return result;
}

std::vector<std::vector<double>> directions(int64_t size, int64_t limit, std::mt19937_64& rng) {
  std::vector<std::vector<double>> result;
  const auto count = static_cast<size_t>(size);
  if (size <= limit) {
    for (size_t i = 0; i < count; ++i) {
      result.emplace_back(count, 0.0);
      result.back()[i] = 1;
    }
    return result;
  }
  std::normal_distribution<double> normal;
  for (int k = 0; k < 3; ++k) {
    std::vector<double>& direction = result.emplace_back(count);
    std::ranges::generate(direction, [&] { return normal(rng) / std::sqrt(static_cast<double>(size)); });
  }
  return result;
}

}  // namespace

Graph gradient_graph(const Graph& graph) {
  DifferentiateOptions options{.keep_outputs = false};
  for (const Value& in : graph.inputs()) {
    if (is_float(in.dtype())) {
      options.inputs.push_back(name_of(in));
    }
  }
  return differentiate(weighted_sum(graph), options);
}

testing::AssertionResult gradients_match(const Graph& graph, const std::vector<Array>& inputs,
                                         const DifferenceOptions& options) {
  std::mt19937_64 rng(7);
  const InterpretOptions run{.bindings = options.bindings};
  const Graph total = weighted_sum(graph);
  std::vector<Array> all = inputs;
  for (const Array& out : interpret(graph, inputs, run)) {
    if (is_float(out.dtype())) {
      all.push_back(random_array(out.dtype(), out.dims(), rng, -1, 1));
    }
  }
  const std::vector<Array> actual = interpret(gradient_graph(graph), all, run);
  size_t next = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!is_float(inputs[i].dtype())) {
      continue;
    }
    const Array& gradient = actual.at(next++);
    if (gradient.dims() != inputs[i].dims() || gradient.dtype() != inputs[i].dtype()) {
      return testing::AssertionFailure() << "the gradient of " << inputs[i].to_string(4) << " is "
                                         << gradient.to_string(4);
    }
    for (const std::vector<double>& direction : directions(inputs[i].size(), options.elements, rng)) {
      const auto at = [&](double step) {
        std::vector<Array> shifted = all;
        shifted[i] = moved(inputs[i], direction, step);
        return interpret(total, shifted, run)[0].at(0);
      };
      const double h = options.step;
      const double expected = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
      const auto values = gradient.values<double>();
      const double found = std::inner_product(direction.begin(), direction.end(), values.begin(), 0.0);
      if (!(std::fabs(found - expected) <= options.tolerance * std::max(1.0, std::fabs(expected)))) {
        return testing::AssertionFailure()
               << "input `" << name_of(graph.inputs()[i]) << "`: the derivative is " << found << ", by differences "
               << expected << "\n  " << inputs[i].to_string(24) << "\n  " << gradient.to_string(24);
      }
    }
  }
  return testing::AssertionSuccess();
}

std::vector<Array> spaced_inputs(const Graph& graph, const Bindings& bindings, uint64_t seed, double low, double high) {
  std::mt19937_64 rng(seed);
  std::vector<Array> result;
  for (const Value& in : graph.inputs()) {
    const std::vector<int64_t> dims = resolve(in.shape(), bindings).dims();
    if (!is_float(in.dtype())) {
      result.push_back(random_array(in.dtype(), dims, rng, 0, 3));
      continue;
    }
    Array array(in.dtype(), dims);
    std::vector<double> values(static_cast<size_t>(array.size()));
    for (size_t i = 0; i < values.size(); ++i) {
      const double jitter = std::uniform_real_distribution<double>(0.2, 0.8)(rng);
      values[i] = low + (high - low) * (static_cast<double>(i) + jitter) / static_cast<double>(values.size());
    }
    std::ranges::shuffle(values, rng);
    result.push_back(Array::from(dims, values).cast(in.dtype()));
  }
  return result;
}

Graph GradientCase::graph() const {
  std::vector<Value> parameters;
  for (const Shape& shape : inputs) {
    parameters.push_back(input(std::string(1, static_cast<char>('a' + parameters.size())), shape));
  }
  std::vector<Output> outputs;
  for (const Value& value : build(parameters)) {
    outputs.push_back({.name = "y" + std::to_string(outputs.size()), .value = value});
  }
  return {parameters, outputs};
}

std::string GradientCase::test_name() const {
  std::string result = name;
  std::ranges::replace(result, ' ', '_');
  return result;
}

void expect_first_derivatives(const GradientCase& each) {
  const Graph graph = each.graph();
  for (const Bindings& bindings : each.bindings) {
    EXPECT_TRUE(gradients_match(graph, spaced_inputs(graph, bindings, 3, each.low, each.high), {.bindings = bindings}))
        << bindings.to_string();
  }
}

void expect_second_derivatives(const GradientCase& each) {
  const Graph graph = gradient_graph(each.graph());
  const Bindings& bindings = each.bindings[each.bindings.size() / 2];
  const DifferenceOptions options{.elements = 8, .bindings = bindings};
  EXPECT_TRUE(gradients_match(graph, spaced_inputs(graph, bindings, 4, each.low, each.high), options))
      << bindings.to_string();
}

}  // namespace tenon
