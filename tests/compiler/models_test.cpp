// The built-in models, compiled: the same answers as the interpreter at every binding, from one compile.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/arrays.h"
#include "support/model_cases.h"
#include "tenon/autodiff.h"
#include "tenon/compile.h"
#include "tenon/interpreter.h"
#include "tenon/ops.h"

namespace tenon::models_test {
namespace {

class CompiledModels : public testing::TestWithParam<ModelCase> {};

/// Sums of large numbers that nearly cancel: an error counts against the largest element.
double scale_of(const Array& x) {
  double largest = 1;
  for (int64_t i = 0; i < x.size(); ++i) {
    largest = std::max(largest, std::fabs(x.at(i)));
  }
  return largest;
}

/// How far the interpreter itself is from exact arithmetic: norms over a few nearly equal numbers magnify every
/// rounding.
double own_error(const Array& interpreted, const Array& exact) {
  double largest = 0;
  for (int64_t i = 0; i < exact.size(); ++i) {
    largest = std::max(largest, std::fabs(interpreted.at(i) - exact.at(i)));
  }
  return largest;
}

void expect_equal(const Graph& graph, const Model& model, const ModelCase& each, const CompileOptions& options) {
  const Executable executable = compile(graph, options);
  for (const Bindings& bindings : each.bindings) {
    const std::vector<Array> inputs = inputs_of(model, bindings, each.tokens);
    const std::vector<Array> expected = interpret(graph, inputs, {.bindings = bindings});
    const std::vector<Array> exact = interpret(graph, inputs, {.bindings = bindings, .reference = true});
    const std::vector<Array> actual = executable.run(inputs, {.bindings = bindings});
    for (size_t i = 0; i < expected.size(); ++i) {
      const double allowed = 1e-4 * scale_of(expected[i]) + own_error(expected[i], exact[i]);
      EXPECT_TRUE(close(actual[i], expected[i], 1e-3, allowed))
          << graph.outputs()[i].name << " at " << bindings.to_string();
    }
  }
}

TEST_P(CompiledModels, EqualTheInterpreter) {
  const Model model = GetParam().build();
  expect_equal(model.graph, model, GetParam(), {.disk_cache = false});
}

TEST_P(CompiledModels, GradientsEqualTheInterpreter) {
  const Model model = GetParam().build();
  const Value y = model.graph.outputs()[0].value;
  const Graph loss("loss", model.graph.inputs(), {{"loss", reduce_sum(sin(y) + square(y))}});
  DifferentiateOptions options;
  for (const Parameter& parameter : model.parameters) {
    if (parameter.trainable) {
      options.inputs.push_back(parameter.name);
    }
  }
  expect_equal(differentiate(loss, options), model, GetParam(), {.disk_cache = false});
}

INSTANTIATE_TEST_SUITE_P(All, CompiledModels, testing::ValuesIn(model_cases()),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace tenon::models_test
