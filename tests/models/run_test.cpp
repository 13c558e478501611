// Each model at reduced width: runs at three bindings, and its gradients agree with finite differences in a random
// direction, in f64.
#include <gtest/gtest.h>

#include <cmath>

#include "ir/node.h"
#include "support/arrays.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

struct ModelCase {
  const char* name;
  Model (*build)();
  std::vector<Bindings> bindings;
  int64_t tokens = 0;  // integer inputs are below this
};

std::vector<ModelCase> model_cases() {
  const auto images = [](int64_t size) {
    return std::vector<Bindings>{{{"batch", 1}, {"height", size}, {"width", size}},
                                 {{"batch", 2}, {"height", size + 1}, {"width", size - 3}},
                                 {{"batch", 0}, {"height", size}, {"width", size}}};
  };
  const std::vector<Bindings> sequences{
      {{"batch", 2}, {"seq", 5}}, {{"batch", 1}, {"seq", 1}}, {{"batch", 0}, {"seq", 3}}};
  const std::vector<Bindings> batches{{{"batch", 1}}, {{"batch", 3}}, {{"batch", 0}}};
  return {
      {"mlp", [] { return mlp({.inputs = 6, .hidden = 5, .outputs = 3}); }, batches},
      {"small_cnn", [] { return small_cnn({.channels = 2, .width = 3, .classes = 4, .image = 8}); }, batches},
      {"resnet18", [] { return resnet({.blocks = {1, 1, 1, 1}, .width = 4, .classes = 5}); }, images(33)},
      {"resnet50", [] { return resnet({.blocks = {1, 1, 1, 1}, .bottleneck = true, .width = 2, .classes = 5}); },
       images(33)},
      {"resnet_training", [] { return resnet({.blocks = {1, 1}, .width = 2, .classes = 3, .training = true}); },
       images(16)},
      {"mobilenet_v2", [] { return mobilenet_v2({.width = 0.1, .classes = 5}); }, images(32)},
      {"efficientnet_b0", [] { return efficientnet_b0({.width = 0.1, .classes = 5}); }, images(32)},
      {"vit",
       [] { return vit({.image = 8, .patch = 4, .width = 8, .hidden = 12, .classes = 3, .layers = 2, .heads = 2}); },
       batches},
      {"bert", [] { return bert({.layers = 2, .heads = 2, .width = 8, .hidden = 12}); }, sequences},
      {"bert_tokens",
       [] { return bert({.layers = 1, .heads = 2, .width = 8, .hidden = 12, .vocabulary = 11, .positions = 9}); },
       sequences, 2},
      {"gpt2",
       [] { return gpt2({.layers = 2, .heads = 2, .width = 8, .vocabulary = 13, .positions = 16}); },
       {{{"batch", 2}, {"seq", 4}, {"past", 0}, {"total", 6}},
        {{"batch", 1}, {"seq", 1}, {"past", 3}, {"total", 4}},
        {{"batch", 0}, {"seq", 2}, {"past", 1}, {"total", 5}}},
       13},
      {"unet",
       [] { return unet({.channels = 1, .width = 2, .classes = 2, .levels = 2}); },
       {{{"batch", 1}, {"rows", 2}, {"columns", 3}},
        {{"batch", 2}, {"rows", 1}, {"columns", 1}},
        {{"batch", 0}, {"rows", 1}, {"columns", 2}}}},
      {"lstm_lm", [] { return lstm_lm({.vocabulary = 7, .width = 3, .hidden = 4}); }, sequences, 7},
  };
}

/// Data at a binding, then the weights as f64, moved off their start so that zeros and ones are ordinary numbers.
std::vector<Array> exact_inputs(const Model& model, const Bindings& bindings, int64_t tokens) {
  std::mt19937_64 rng(11);
  std::vector<Array> inputs;
  for (size_t i = 0; i < model.data_inputs; ++i) {
    const Value& in = model.graph.inputs()[i];
    const bool whole = is_integer(in.dtype());
    inputs.push_back(random_array(in.dtype(), resolve(in.shape(), bindings).dims(), rng, whole ? 0 : -1,
                                  whole ? static_cast<double>(tokens) - 0.01 : 1));
  }
  for (const Parameter& parameter : model.parameters) {
    Array value = initial_value(parameter).cast(f64);
    for (double& x : value.mutable_values<double>()) {
      x += std::uniform_real_distribution<double>(0.0, 0.1)(rng);
    }
    inputs.push_back(value);
  }
  return inputs;
}

std::vector<Array> inputs_of(const Model& model, const Bindings& bindings, int64_t tokens) {
  std::vector<Array> inputs = exact_inputs(model, bindings, tokens);
  for (size_t i = model.data_inputs; i < inputs.size(); ++i) {
    inputs[i] = inputs[i].cast(f32);
  }
  return inputs;
}

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

}  // namespace
}  // namespace tenon
