// Each model at reduced width: runs at three bindings, and its gradients agree with finite differences in a random
// direction, in f64.
#include <gtest/gtest.h>

#include <cmath>

#include "ir/node.h"
#include "support/arrays.h"
#include "support/model_cases.h"
#include "tenon/tenon.h"

namespace tenon::run_test {
namespace {

class Models : public testing::TestWithParam<ModelCase> {};

TEST_P(Models, RunAtThreeBindings) {
  const ModelCase& each = GetParam();
  const Model model = each.build();
  for (const Bindings& bindings : each.bindings) {
    const std::vector<Array> inputs = inputs_of(model, bindings, each.tokens);
    const auto out = interpret(model.graph, inputs, {.bindings = bindings});
    const Array exact = interpret(model.graph, inputs, {.bindings = bindings, .reference = true})[0];
    const Bindings all = bind(model.graph, inputs, bindings);
    EXPECT_EQ(out[0].dims(), resolve(model.graph.outputs()[0].value.shape(), all).dims()) << bindings.to_string();
    EXPECT_TRUE(close(out[0].cast(f64), exact, 1e-3, 1e-4)) << bindings.to_string();
    for (int64_t i = 0; i < exact.size(); ++i) {
      ASSERT_TRUE(std::isfinite(exact.at(i))) << bindings.to_string();
    }
  }
}

double dot(const Array& a, const Array& b) {
  double sum = 0;
  for (int64_t i = 0; i < a.size(); ++i) {
    sum += a.at(i) * b.at(i);
  }
  return sum;
}

/// The model with one scalar output, in which every element of the first output has a part.
Graph with_loss(const Model& model) {
  const Value y = model.graph.outputs()[0].value;
  return {"loss", model.graph.inputs(), {{"loss", reduce_sum(sin(y) + square(y))}}};
}

TEST_P(Models, GradientsAgreeWithFiniteDifferences) {
  const ModelCase& each = GetParam();
  const Model model = each.build();
  const Graph loss = with_loss(model);
  DifferentiateOptions options;
  for (const Parameter& parameter : model.parameters) {
    if (parameter.trainable) {
      options.inputs.push_back(parameter.name);
    }
  }
  const Graph step = differentiate(loss, options);
  for (size_t sample = 0; sample < 2; ++sample) {
    const Bindings& bindings = each.bindings[sample];
    const std::vector<Array> inputs = exact_inputs(model, bindings, each.tokens);
    const InterpretOptions reference{.bindings = bindings, .reference = true};
    const auto out = interpret(step, inputs, reference);
    std::mt19937_64 rng(13);
    constexpr double h = 1e-7;  // small, so that hardly any relu changes sides
    double slope = 0;
    std::vector<Array> above = inputs;
    std::vector<Array> below = inputs;
    size_t gradient = 1;
    for (size_t i = 0; i < model.parameters.size(); ++i) {
      if (!model.parameters[i].trainable) {
        continue;
      }
      const Array direction = random_array(f64, inputs[model.data_inputs + i].dims(), rng, -1, 1);
      auto up = above[model.data_inputs + i].mutable_values<double>();
      auto down = below[model.data_inputs + i].mutable_values<double>();
      for (size_t k = 0; k < up.size(); ++k) {
        up[k] += h * direction.at(static_cast<int64_t>(k));
        down[k] -= h * direction.at(static_cast<int64_t>(k));
      }
      slope += dot(out[gradient++], direction);
    }
    const double high = interpret(loss, above, reference)[0].at(0);
    const double low = interpret(loss, below, reference)[0].at(0);
    const double measured = (high - low) / (2 * h);
    EXPECT_NEAR(slope, measured, 1e-4 * std::fabs(measured) + 1e-4) << bindings.to_string();
  }
}

INSTANTIATE_TEST_SUITE_P(Reduced, Models, testing::ValuesIn(model_cases()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Gpt2, DecodingWithTheCacheEqualsTheWholeSequence) {
  const Model model = gpt2({.layers = 2, .heads = 2, .width = 8, .vocabulary = 13, .positions = 16});
  std::vector<Array> inputs = inputs_of(model, {{"batch", 1}, {"seq", 5}, {"past", 0}, {"total", 5}}, 13);
  const Array whole = interpret(model.graph, inputs, {.bindings = {{"past", 0}}})[0];
  const Array tokens = inputs[0];
  for (int64_t past = 0; past < 5; ++past) {
    inputs[0] = Array::from<int64_t>({1, 1}, {static_cast<int64_t>(tokens.at(past))});
    const auto out = interpret(model.graph, inputs, {.bindings = {{"past", past}}});
    for (int64_t i = 0; i < 13; ++i) {
      EXPECT_NEAR(out[0].at(i), whole.at(past * 13 + i), 1e-4);
    }
    inputs[1] = out[1];
    inputs[2] = out[2];
  }
  EXPECT_NE(error_text([&] { interpret(model.graph, inputs, {.bindings = {{"past", 5}}}); }), "no error");
}

TEST(ModelWeights, AsConstantsGiveTheSame) {
  const Model model = mlp({.inputs = 6, .hidden = 5, .outputs = 3});
  std::vector<Array> inputs{Array::full(f32, {2, 6}, 0.5)};
  const Array inside = interpret(with_weights(model), inputs)[0];
  for (const Array& weight : initial_values(model)) {
    inputs.push_back(weight);
  }
  EXPECT_TRUE(same(inside, interpret(model.graph, inputs)[0]));
}

TEST(ModelWeights, OfOneOwnsChoiceAreChecked) {
  const Model model = mlp({.inputs = 2, .hidden = 2, .outputs = 1, .layers = 1});
  const Graph graph = with_weights(model, {Array::full(f32, {2, 1}, 2), Array::full(f32, {1}, 1)});
  EXPECT_EQ(interpret(graph, {Array::full(f32, {1, 2}, 3)})[0].at(0), 13);
  EXPECT_EQ(error_text([&] { with_weights(model, {Array(f32, {2, 1})}); }),
            "`mlp` has 2 parameters, and 1 values are given");
  EXPECT_EQ(error_text([&] { with_weights(model, {Array(f32, {1, 2}), Array(f32, {1})}); }),
            "parameter `layers.0.weight` is f32[2, 1], and its value f32[1, 2]");
}

}  // namespace
}  // namespace tenon::run_test
