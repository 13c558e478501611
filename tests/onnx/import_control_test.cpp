// What conditionals and loops of a model become.
#include <gtest/gtest.h>

#include <map>

#include "ir/node.h"
#include "onnx/model_builder.h"
#include "support/arrays.h"
#include "tenon/interpreter.h"
#include "tenon/onnx.h"

namespace tenon {
namespace {

TEST(OnnxControl, ChoicesBySizesAreMade) {
  OnnxModelBuilder model;
  model.input("x", "f32[n, 1]");
  model.node("Shape", {"x"}, {"shape"});
  model.constant("one", ints({1}));
  model.node("Slice", {"shape", "one", "two"}, {"last"});
  model.constant("two", ints({2}));
  model.node("Equal", {"last", "one"}, {"is_one"});
  proto::GraphProto squeezes;
  GraphBuilder(squeezes).node("Squeeze", {"x", "one"}, {"s"});
  GraphBuilder(squeezes).output("s");
  proto::GraphProto keeps;
  GraphBuilder(keeps).node("Identity", {"x"}, {"k"});
  GraphBuilder(keeps).output("k");
  model.node("If", {"is_one"}, {"y"}, {attribute("then_branch", squeezes), attribute("else_branch", keeps)});
  model.output("y");
  EXPECT_EQ(imported(model).outputs()[0].value.shape().to_string(), "f32[n]");
}

/// The trip, whether to go on, and a state.
GraphBuilder begin_body(proto::GraphProto& body) {
  GraphBuilder builder(body);
  builder.input("i", "i64[]");
  builder.input("c", "bool[]");
  builder.input("state", "f32[n]");
  return builder;
}

/// How a loop is told to begin and to go on: `c` is its own condition, `no` is false, `less` asks the iteration.
struct LoopEnds {
  const char* begin;  // `yes`, `no` (constants) or `given` (an input)
  const char* go_on;
  bool stacks;
};

OnnxModelBuilder loop_that_ends(const LoopEnds& ends) {
  OnnxModelBuilder model;
  model.input("x", "f32[n]");
  model.input("given", "bool[]");
  model.constant("trips", Array::scalar(i64, 4));
  model.constant("yes", Array::scalar(boolean, 1));
  model.constant("no", Array::scalar(boolean, 0));
  model.constant("one", Array::scalar(i64, 1));
  proto::GraphProto body;
  GraphBuilder builder = begin_body(body);
  builder.node("Less", {"i", "one"}, {"less"});
  builder.node("Identity", {ends.go_on}, {"c_out"});
  builder.node("Add", {"state", "x"}, {"next"});
  builder.output("c_out");
  builder.output("next");
  if (ends.stacks) {
    builder.node("Identity", {"next"}, {"kept"});
    builder.output("kept");
  }
  model.node("Loop", {"trips", ends.begin, "x"},
             ends.stacks ? std::vector<std::string>{"last", "all"} : std::vector<std::string>{"last"},
             {attribute("body", body)});
  model.output("last");
  if (ends.stacks) {
    model.output("all");
  }
  return model;
}

std::vector<Array> run_loop_that_ends(const Graph& graph, bool given) {
  const std::map<std::string, Array> values = {{"x", Array::from<float>({2}, {1, 2})},
                                               {"given", Array::scalar(boolean, given ? 1 : 0)}};
  std::vector<Array> inputs;
  for (const Value& value : graph.inputs()) {
    inputs.push_back(values.at(value.node().as<Input>()->name));
  }
  return interpret(graph, inputs);
}

TEST(OnnxControl, LoopsCarryAndStack) {
  const std::vector<Array> results = run_loop_that_ends(imported(loop_that_ends({"yes", "c", true})), true);
  EXPECT_TRUE(same(results[0], Array::from<float>({2}, {5, 10})));
  EXPECT_TRUE(same(results[1], Array::from<float>({4, 2}, {2, 4, 3, 6, 4, 8, 5, 10})));
}

TEST(OnnxControl, LoopsThatDoNotBeginGiveWhatTheyGot) {
  for (const char* go_on : {"c", "no", "less"}) {
    const std::vector<Array> results = run_loop_that_ends(imported(loop_that_ends({"no", go_on, true})), true);
    EXPECT_TRUE(same(results[0], Array::from<float>({2}, {1, 2}))) << go_on;
    EXPECT_TRUE(same(results[1], Array(f32, {0, 2}))) << go_on;
  }
}

TEST(OnnxControl, LoopsThatAlwaysEndMakeOneTrip) {
  const std::vector<Array> results = run_loop_that_ends(imported(loop_that_ends({"yes", "no", true})), true);
  EXPECT_TRUE(same(results[0], Array::from<float>({2}, {2, 4})));
  EXPECT_TRUE(same(results[1], Array::from<float>({1, 2}, {2, 4})));
}

TEST(OnnxControl, AnInputSaysWhetherALoopBegins) {
  const std::pair<const char*, float> trips[] = {{"c", 4}, {"no", 1}, {"less", 2}};
  for (const auto& [go_on, count] : trips) {
    const Graph graph = imported(loop_that_ends({"given", go_on, false}));
    EXPECT_TRUE(same(run_loop_that_ends(graph, false)[0], Array::from<float>({2}, {1, 2}))) << go_on;
    EXPECT_TRUE(same(run_loop_that_ends(graph, true)[0], Array::from<float>({2}, {1 + count, 2 + 2 * count}))) << go_on;
  }
}

TEST(OnnxControl, StacksNeedToKnowWhetherTheirLoopBegins) {
  const OnnxModelBuilder model = loop_that_ends({"given", "c", true});
  EXPECT_THROW(imported(model), OnnxValueNeeded);
  for (const bool given : {false, true}) {
    const Graph graph = imported(model, {.values = {{"given", Array::scalar(boolean, given ? 1 : 0)}}});
    const std::vector<Array> results = run_loop_that_ends(graph, given);
    EXPECT_TRUE(
        same(results[0], Array::from<float>({2}, given ? std::vector<float>{5, 10} : std::vector<float>{1, 2})));
    EXPECT_EQ(results[1].dims(), (std::vector<int64_t>{given ? 4 : 0, 2}));
  }
}

TEST(OnnxControl, SizesByDataInABodyAreRefusedByName) {
  OnnxModelBuilder model;
  model.input("x", "f32[n]");
  model.constant("trips", Array::scalar(i64, 3));
  proto::GraphProto body;
  GraphBuilder builder = begin_body(body);
  builder.node("Identity", {"c"}, {"c_out"});
  builder.node("NonZero", {"state"}, {"where"}).set_name("inner");
  builder.node("ReduceSum", {"where"}, {"sum"}, {attribute("keepdims", int64_t{0})});
  builder.node("Cast", {"sum"}, {"number"}, {attribute("to", int64_t{1})});
  builder.node("Add", {"state", "number"}, {"next"});
  builder.output("c_out");
  builder.output("next");
  model.node("Loop", {"trips", "", "x"}, {"last"}, {attribute("body", body)}).set_name("outer");
  model.output("last");
  const std::string text = error_text([&] { imported(model); });
  EXPECT_NE(text.find("data decide the size of axis `nonzero_"), std::string::npos) << text;
  EXPECT_NE(text.find("at node \"inner\"\n  which is NonZero in the body of \"outer\" (Loop)"), std::string::npos)
      << text;
}

}  // namespace
}  // namespace tenon
