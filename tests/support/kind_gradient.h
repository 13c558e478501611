// The derivative of one structural kind against finite differences in f64.
#pragma once

#include "ops/gradient/gradient.h"
#include "support/arrays.h"
#include "tenon/interpreter.h"
#include "tenon/ops.h"

namespace tenon {

/// `node` is a Kind over f64 and integer inputs of a graph; `data` are those inputs, in the order of node.inputs. Every
/// f64 operand's gradient for random output gradients must match central differences, and integers must have none.
template <class Kind>
testing::AssertionResult kind_gradient_matches(const Node& node, const std::vector<Array>& data, uint64_t seed = 1) {
  std::mt19937_64 rng(seed);
  std::vector<Value> inputs = node.inputs;
  std::vector<Array> arrays = data;
  std::vector<Value> upper;
  std::vector<Output> value;
  for (size_t i = 0; i < node.shapes.size(); ++i) {
    value.push_back({"y" + std::to_string(i), Value(&node, static_cast<int>(i))});
    upper.emplace_back();
  }
  const Graph forward(inputs, value);
  const std::vector<Array> results = interpret(forward, data);
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].dtype() == Dtype::f64) {
      upper[i] = input("g" + std::to_string(i), node.shapes[i]);
      inputs.push_back(upper[i]);
      arrays.push_back(random_array(Dtype::f64, results[i].dims(), rng));
    }
  }
  const auto loss = [&](const std::vector<Array>& at) {
    double sum = 0;
    size_t g = data.size();
    for (const Array& y : interpret(forward, at)) {
      for (int64_t i = 0; y.dtype() == Dtype::f64 && i < y.size(); ++i) {
        sum += arrays[g].at(i) * y.at(i);
      }
      g += static_cast<size_t>(y.dtype() == Dtype::f64);
    }
    return sum;
  };
  const Gradients gradients = gradient(*node.as<Kind>(), node, upper);
  for (size_t k = 0; k < data.size(); ++k) {
    if (static_cast<bool>(gradients[k]) != (data[k].dtype() == Dtype::f64)) {
      return testing::AssertionFailure() << "operand " << k << (gradients[k] ? " has a" : " has no") << " gradient";
    }
    if (!gradients[k]) {
      continue;
    }
    const Array exact = interpret(Graph(inputs, {{"d", gradients[k]}}), arrays)[0];
    Array expected(Dtype::f64, data[k].dims());
    for (int64_t i = 0; i < data[k].size(); ++i) {
      constexpr double kStep = 1e-5;
      std::vector<Array> moved = data;
      double& element = moved[k].mutable_values<double>()[static_cast<size_t>(i)];
      element += kStep;
      const double above = loss(moved);
      moved[k].mutable_values<double>()[static_cast<size_t>(i)] -= 2 * kStep;
      expected.mutable_values<double>()[static_cast<size_t>(i)] = (above - loss(moved)) / (2 * kStep);
    }
    if (auto matches = close(exact, expected, 1e-6, 1e-6); !matches) {
      return matches << "\n  in the gradient of operand " << k;
    }
  }
  return testing::AssertionSuccess();
}

}  // namespace tenon
