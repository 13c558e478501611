// Squeeze without axes: sizes decide its rank.
#include <gtest/gtest.h>

#include "onnx/model_builder.h"
#include "support/arrays.h"
#include "support/error_text.h"
#include "tenon/interpreter.h"
#include "tenon/onnx.h"

namespace tenon::squeeze_test {
namespace {

/// y is x without its axes of size 1; `declared` is empty, or what the file says of y.
OnnxModelBuilder squeezes(const std::string& shape, const std::string& declared = "") {
  OnnxModelBuilder model;
  model.input("x", shape);
  model.node("Squeeze", {"x"}, {"y"}).set_name("squeeze");
  declared.empty() ? model.output("y") : model.output("y", declared);
  return model;
}

std::string shape_of(const OnnxModelBuilder& model, const OnnxOptions& options = {}) {
  return imported(model, options).outputs()[0].value.shape().to_string();
}

TEST(OnnxSqueeze, WhatIsOneAtAllSizesGoes) {
  std::vector<OnnxAssumption> assumed;
  EXPECT_EQ(shape_of(squeezes("f32[1, 4, 1]"), {.assumed = &assumed}), "f32[4]");
  EXPECT_EQ(shape_of(squeezes("f32[1, 2]"), {.assumed = &assumed}), "f32[2]");
  EXPECT_TRUE(assumed.empty());
}

TEST(OnnxSqueeze, SizesThatAreToldDecide) {
  for (const char* const declared : {"", "f32[4]", "f32[batch, 4]"}) {
    const OnnxModelBuilder model = squeezes("f32[batch, 4]", declared);
    EXPECT_EQ(shape_of(model, {.at = {{"batch", 1}}}), "f32[4]") << declared;
    EXPECT_EQ(shape_of(model, {.dims = {{"x", {1, 4}}}}), "f32[4]") << declared;
    EXPECT_EQ(shape_of(model, {.at = {{"batch", 8}}}), "f32[batch, 4]") << declared;
    EXPECT_EQ(interpret(imported(model, {.at = {{"batch", 0}}}), {Array(f32, {0, 4})})[0].dims(),
              (std::vector<int64_t>{0, 4}));
  }
}

TEST(OnnxSqueeze, ThenTheRankThatTheFileDeclares) {
  std::vector<OnnxAssumption> assumed;
  const Graph graph = imported(squeezes("f32[batch, 4]", "f32[4]"), {.assumed = &assumed});
  EXPECT_EQ(graph.outputs()[0].value.shape().to_string(), "f32[4]");
  EXPECT_EQ(interpret(graph, {Array(f32, {1, 4})})[0].dims(), std::vector<int64_t>{4});
  ASSERT_EQ(assumed.size(), 1);
  EXPECT_EQ(assumed[0].relation.to_string(), "batch == 1");
  EXPECT_EQ(assumed[0].reason, "the file declares `y` with rank 1");
  EXPECT_EQ(error_text([&] { interpret(graph, {Array(f32, {3, 4})}); }),
            "axis `batch` is 3, must be 1: needed by the rank that Squeeze of f32[batch, 4] was given when the model "
            "was read\n  at node \"squeeze\"");
  EXPECT_EQ(shape_of(squeezes("f32[batch, 4]", "f32[batch, 4]")), "f32[batch, 4]");
}

/// Of several, those with which names and sizes agree.
TEST(OnnxSqueeze, WhichAxesGoFollowsFromWhatIsDeclaredOfTheOthers) {
  EXPECT_EQ(shape_of(squeezes("f32[n, m]", "f32[n]")), "f32[n]");
  EXPECT_EQ(shape_of(squeezes("f32[n, m]", "f32[m]")), "f32[m]");
  EXPECT_EQ(shape_of(squeezes("f32[n, 3, m]", "f32[3, k]")), "f32[3, m]");
  EXPECT_EQ(shape_of(squeezes("f32[n, 3, m]", "f32[k, 3]")), "f32[n, 3]");
  EXPECT_EQ(shape_of(squeezes("f32[n, m]", "f32[-1]")), "f32[m]");  // the first goes: most often a batch
  EXPECT_EQ(shape_of(squeezes("f32[n, m]", "f32[]")), "f32[]");
  EXPECT_EQ(shape_of(squeezes("f32[n, m]", "f32[2, 2, 2]")), "f32[n, m]");  // not what Squeeze can give
}

TEST(OnnxSqueeze, WithoutBothNoAxisIsOne) {
  std::vector<OnnxAssumption> assumed;
  const Graph graph = imported(squeezes("f32[batch, 4, 1]"), {.assumed = &assumed});
  EXPECT_EQ(graph.outputs()[0].value.shape().to_string(), "f32[batch, 4]");
  ASSERT_EQ(assumed.size(), 1);
  EXPECT_EQ(assumed[0].reason, "no size was given that says otherwise");
  EXPECT_EQ(interpret(graph, {Array(f32, {5, 4, 1})})[0].dims(), (std::vector<int64_t>{5, 4}));
  EXPECT_EQ(error_text([&] { interpret(graph, {Array(f32, {1, 4, 1})}); }),
            "axis `batch` is 1, must be at least 2: needed by the rank that Squeeze of f32[batch, 4, 1] was given when "
            "the model was read\n  at node \"squeeze\"");
}

/// An axis that can be no 1 is no question.
TEST(OnnxSqueeze, SizesThatAreNeverOneAskNothing) {
  OnnxModelBuilder model;
  model.input("x", "f32[n]");
  model.node("Concat", {"x", "x"}, {"twice"}, {attribute("axis", int64_t{0})});
  model.node("Squeeze", {"twice"}, {"y"});
  model.output("y");
  std::vector<OnnxAssumption> assumed;
  EXPECT_EQ(shape_of(model, {.assumed = &assumed}), "f32[2*n]");
  EXPECT_TRUE(assumed.empty());
}

/// What follows makes sense of one rank alone.
TEST(OnnxSqueeze, TheRestOfTheModelMayLeaveOneWay) {
  OnnxModelBuilder model;
  model.input("x", "f32[batch, 4]");
  model.node("Squeeze", {"x"}, {"s"});
  model.node("Transpose", {"s"}, {"y"}, {attribute("perm", std::vector<int64_t>{0})});
  model.output("y");
  std::vector<OnnxAssumption> assumed;
  EXPECT_EQ(shape_of(model, {.assumed = &assumed}), "f32[4]");
  ASSERT_EQ(assumed.size(), 1);
  EXPECT_EQ(assumed[0].reason, "otherwise the model makes no sense");
}

TEST(OnnxSqueeze, RanksOfValuesBetweenAreRead) {
  OnnxModelBuilder model;
  model.input("x", "f32[batch, 4]");
  model.node("Squeeze", {"x"}, {"s"});
  model.declares("s", "f32[4]");
  model.node("Relu", {"s"}, {"y"});
  model.output("y");
  EXPECT_EQ(shape_of(model), "f32[4]");
}

}  // namespace
}  // namespace tenon::squeeze_test
