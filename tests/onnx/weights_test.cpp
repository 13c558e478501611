// Weights of a model as inputs, for training, and back as initializers.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "onnx/model_builder.h"
#include "passes/autodiff/autodiff.h"
#include "support/arrays.h"
#include "support/error_text.h"
#include "tenon/interpreter.h"
#include "tenon/onnx.h"
#include "tenon/onnx_export.h"
#include "tenon/ops.h"

namespace tenon::weights_test {
namespace {

std::vector<std::string> input_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const Value& each : graph.inputs()) {
    names.push_back(passes::name_of(each));
  }
  return names;
}

using Names = std::vector<std::string>;

TEST(OnnxWeights, AreInputsBehindTheOthers) {
  OnnxModelBuilder model;
  model.input("x", "f32[batch, 2]");
  model.constant("w", Array::full(f32, {2, 2}, 1));
  model.constant("a", Array(f32, {2}));
  model.constant("b", Array(f32, {2}));  // equal to a, and another weight
  model.constant("scale", Array::scalar(f32, 2));
  model.constant("mask", Array::full(f32, {2}, -std::numeric_limits<double>::infinity()));
  model.node("Gemm", {"x", "w", "a"}, {"h"});
  model.node("Add", {"h", "b"}, {"i"});
  model.node("Mul", {"i", "scale"}, {"j"});
  model.node("Max", {"j", "mask"}, {"y"});
  model.output("y");
  std::vector<OnnxWeight> weights;
  const Graph graph = imported(model, {.weights = &weights});
  EXPECT_EQ(input_names(graph), (Names{"x", "w", "a", "b"}));
  ASSERT_EQ(weights.size(), 3u);
  EXPECT_EQ(weights[0].name, "w");
  EXPECT_TRUE(same_bits(weights[0].value, Array::full(f32, {2, 2}, 1)));
  EXPECT_FALSE(weights[0].statistic);
  const Array x = Array::full(f32, {1, 2}, 3);
  const Array y = interpret(graph, {x, weights[0].value, weights[1].value, Array::full(f32, {2}, 1)})[0];
  EXPECT_EQ(y.at(0), 14);
}

TEST(OnnxWeights, MomentsOfABatchNormAreStatistics) {
  OnnxModelBuilder model;
  model.input("x", "f32[batch, 2, 4]");
  for (const char* name : {"scale", "bias", "mean", "var"}) {
    model.constant(name, Array::full(f32, {2}, 1));
  }
  model.node("BatchNormalization", {"x", "scale", "bias", "mean", "var"}, {"y"});
  model.output("y");
  std::vector<OnnxWeight> weights;
  imported(model, {.weights = &weights});
  std::vector<bool> statistics;
  for (const OnnxWeight& weight : weights) {
    statistics.push_back(weight.statistic);
  }
  EXPECT_EQ(statistics, (std::vector<bool>{false, false, true, true}));
}

TEST(OnnxWeights, WhatDecidesAShapeStaysAConstant) {
  OnnxModelBuilder model;
  model.input("x", "f32[batch, 1, 2, 2]");
  model.constant("scales", Array::from<float>({4}, {1, 1, 2, 2}));
  model.constant("w", Array::full(f32, {4}, 1));
  model.node("Resize", {"x", "", "scales"}, {"big"}, {attribute("mode", std::string("nearest"))});
  model.node("Mul", {"big", "w"}, {"y"});
  model.output("y");
  std::vector<OnnxWeight> weights;
  const Graph graph = imported(model, {.weights = &weights});
  EXPECT_EQ(input_names(graph), (Names{"x", "w"}));
  EXPECT_EQ(weights.size(), 1u);
  EXPECT_EQ(graph.outputs()[0].value.shape().to_string(), "f32[batch, 1, 4, 4]");
}

TEST(OnnxWeights, GoOutUnderTheirNamesAndComeBack) {
  const Value x = input("x", shape(f32, "batch", 2));
  const Value w = input("layer.weight", shape(f32, 2));
  const Value m = input("layer.mean", shape(f32, 2));
  const Graph graph({x, w, m}, {{"y", x * w - m}});
  const std::vector<OnnxWeight> given{{"layer.weight", Array::full(f32, {2}, 3)},
                                      {"layer.mean", Array::full(f32, {2}, 3), true}};
  const std::string bytes = export_onnx_bytes(graph, {.weights = given});
  const Graph plain = import_onnx_bytes(bytes);
  EXPECT_EQ(input_names(plain), Names{"x"});
  EXPECT_EQ(interpret(plain, {Array::full(f32, {1, 2}, 2)})[0].at(0), 3);
  std::vector<OnnxWeight> weights;
  const Graph again = import_onnx_bytes(bytes, {}, {.weights = &weights});
  EXPECT_EQ(input_names(again), (Names{"x", "layer.weight", "layer.mean"}));
  ASSERT_EQ(weights.size(), 2u);
  EXPECT_FALSE(weights[0].statistic);
  EXPECT_TRUE(weights[1].statistic);
}

TEST(OnnxWeights, ThatFitNoInputAreRefused) {
  const Value x = input("x", shape(f32, 2));
  const Graph graph("g", {x}, {{"y", x}});
  const auto text = [&](OnnxWeight weight) {
    return error_text([&] { export_onnx_bytes(graph, {.weights = {std::move(weight)}}); });
  };
  EXPECT_EQ(text({"w", Array(f32, {2})}), "graph `g` has no input `w` that a weight f32[2] fits");
  EXPECT_EQ(text({"x", Array(f32, {3})}), "graph `g` has no input `x` that a weight f32[3] fits");
}

}  // namespace
}  // namespace tenon::weights_test
