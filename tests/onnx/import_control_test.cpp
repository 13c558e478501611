// What conditionals and loops of a model become.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "ir/node.h"
#include "onnx/model_builder.h"
#include "support/arrays.h"
#include "support/error_text.h"
#include "tenon/interpreter.h"
#include "tenon/onnx.h"

namespace tenon::import_control_test {
namespace {

/// x without its last axis where that is 1, as an exporter writes squeeze().
proto::NodeProto& add_squeeze_by_size(OnnxModelBuilder& model, const std::string& result) {
  model.constant("one", ints({1}));
  model.constant("two", ints({2}));
  model.node("Shape", {"x"}, {"shape"});
  model.node("Slice", {"shape", "one", "two"}, {"last"});
  model.node("Equal", {"last", "one"}, {"is_one"});
  proto::GraphProto squeezes;
  GraphBuilder(squeezes).node("Squeeze", {"x", "one"}, {"s"});
  GraphBuilder(squeezes).output("s");
  proto::GraphProto keeps;
  GraphBuilder(keeps).node("Identity", {"x"}, {"k"});
  GraphBuilder(keeps).output("k");
  return model.node("If", {"is_one"}, {result}, {attribute("then_branch", squeezes), attribute("else_branch", keeps)});
}

TEST(OnnxControl, ChoicesBySizesAreMade) {
  OnnxModelBuilder model;
  model.input("x", "f32[n, 1]");
  add_squeeze_by_size(model, "y");
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
  int64_t trips = 4;
};

OnnxModelBuilder loop_that_ends(const LoopEnds& ends) {
  OnnxModelBuilder model;
  model.input("x", "f32[n]");
  model.input("given", "bool[]");
  model.constant("trips", Array::scalar(i64, static_cast<double>(ends.trips)));
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

TEST(OnnxControl, LoopsOfFewerThanNoTripsMakeNone) {
  const std::vector<Array> results = run_loop_that_ends(imported(loop_that_ends({"yes", "c", true, -3})), true);
  EXPECT_TRUE(same(results[0], Array::from<float>({2}, {1, 2})));
  EXPECT_TRUE(same(results[1], Array(f32, {0, 2})));
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

/// How many results there are is known when the loop has run.
TEST(OnnxControl, StacksOfLoopsThatOnlyValuesBeginOrEnd) {
  const std::pair<LoopEnds, int64_t> cases[] = {
      {{"given", "c", true}, 4}, {{"given", "less", true}, 2}, {{"yes", "less", true}, 2}};
  for (const auto& [ends, trips] : cases) {
    const Graph graph = imported(loop_that_ends(ends));
    for (const bool given : {false, true}) {
      const int64_t made = given || std::string_view(ends.begin) == "yes" ? trips : 0;
      const std::vector<Array> results = run_loop_that_ends(graph, given);
      const auto last = static_cast<float>(1 + made);
      EXPECT_TRUE(same(results[0], Array::from<float>({2}, {last, 2 * last}))) << ends.begin << " " << ends.go_on;
      EXPECT_EQ(results[1].dims(), (std::vector<int64_t>{made, 2})) << ends.begin << " " << ends.go_on;
    }
  }
}

/// As exporters of Keras write a recurrent layer: a counter beside the state, compared as floats with a size.
TEST(OnnxControl, CountersThatMeetSizesCountTrips) {
  OnnxModelBuilder model;
  model.input("x", "f32[n, 2]");
  model.constant("zero", ints({0}));
  model.constant("one", ints({1}));
  model.constant("none", Array::scalar(f32, 0));
  model.constant("start", Array::from<int32_t>({}, {0}));
  model.constant("state", Array(f32, {2}));
  model.node("Shape", {"x"}, {"shape"});
  model.node("Slice", {"shape", "zero", "one"}, {"first"});
  model.node("Squeeze", {"first", "zero"}, {"rows"});
  model.node("Cast", {"rows"}, {"limit"}, {attribute("to", int64_t{6})});
  model.node("Cast", {"rows"}, {"float_limit"}, {attribute("to", int64_t{1})});
  model.node("Less", {"none", "float_limit"}, {"begins"});
  proto::GraphProto body;
  GraphBuilder builder(body);
  builder.input("i", "i64[]");
  builder.input("c", "bool[]");
  builder.input("counter", "i32[]");
  builder.input("sum", "f32[2]");
  builder.input("bound", "i32[]");
  builder.constant("step", Array::from<int32_t>({}, {1}));
  builder.node("Add", {"counter", "step"}, {"next"});
  builder.node("Gather", {"x", "counter"}, {"row"});
  builder.node("Add", {"sum", "row"}, {"sum_out"});
  builder.node("Identity", {"sum_out"}, {"kept"});
  builder.node("Identity", {"bound"}, {"bound_out"});
  builder.node("Cast", {"next"}, {"a"}, {attribute("to", int64_t{1})});
  builder.node("Cast", {"bound"}, {"b"}, {attribute("to", int64_t{1})});
  builder.node("Less", {"a", "b"}, {"c_out"});
  for (const char* name : {"c_out", "next", "sum_out", "bound_out", "kept"}) {
    builder.output(name);
  }
  model.node("Loop", {"", "begins", "start", "state", "limit"}, {"count", "sum_last", "bound_last", "all"},
             {attribute("body", body)});
  model.output("all");
  const Graph graph = imported(model);
  EXPECT_EQ(graph.outputs()[0].value.shape().to_string(), "f32[n, 2]");
  EXPECT_TRUE(same(interpret(graph, {Array::from<float>({3, 2}, {1, 2, 3, 4, 5, 6})})[0],
                   Array::from<float>({3, 2}, {1, 2, 4, 6, 9, 12})));
  EXPECT_EQ(interpret(graph, {Array(f32, {0, 2})})[0].dims(), (std::vector<int64_t>{0, 2}));
}

/// The number of trips is an input, or a value that is computed.
TEST(OnnxControl, ValuesSayHowManyTrips) {
  OnnxModelBuilder model;
  model.input("x", "f32[n]");
  model.input("trips", "i64[]");
  proto::GraphProto body;
  GraphBuilder builder = begin_body(body);
  builder.node("Identity", {"c"}, {"c_out"});
  builder.node("Add", {"state", "x"}, {"next"});
  builder.output("c_out");
  builder.output("next");
  model.node("Loop", {"trips", "", "x"}, {"last"}, {attribute("body", body)});
  model.output("last");
  const Graph graph = imported(model);
  for (const int64_t trips : {0, 1, 5}) {
    const auto times = static_cast<float>(trips + 1);
    EXPECT_TRUE(same(interpret(graph, {Array::from<float>({2}, {1, 2}), Array::from<int64_t>({}, {trips})})[0],
                     Array::from<float>({2}, {times, 2 * times})))
        << trips;
  }
}

TEST(OnnxControl, ValuesThatGrowInAShortLoop) {
  OnnxModelBuilder model;
  model.input("x", "f32[n]");
  model.constant("trips", Array::scalar(i64, 3));
  model.node("Loop", {"trips", "", "x"}, {"last"}, {attribute("body", growing_body("x"))});
  model.output("last");
  const Graph graph = imported(model);
  EXPECT_EQ(graph.outputs()[0].value.shape().to_string(), "f32[4*n]");
  EXPECT_TRUE(
      same(interpret(graph, {Array::from<float>({2}, {1, 2})})[0], Array::from<float>({8}, {1, 2, 1, 2, 1, 2, 1, 2})));
}

/// A squeeze by size, then something that only one rank takes.
OnnxModelBuilder squeezed_by_size(const char* perm_of_rank_two) {
  OnnxModelBuilder model;
  model.input("x", "f32[n, m]");
  add_squeeze_by_size(model, "z").set_name("squeeze");
  model.node("Transpose", {"z"}, {"y"},
             {attribute("perm", perm_of_rank_two ? std::vector<int64_t>{1, 0} : std::vector<int64_t>{0})});
  model.output("y");
  return model;
}

TEST(OnnxControl, WhatCanBeReadDecidesBranchesThatDifferInRank) {
  EXPECT_EQ(imported(squeezed_by_size("two")).outputs()[0].value.shape().to_string(), "f32[m, n]");
  const Graph graph = imported(squeezed_by_size(nullptr));
  EXPECT_EQ(graph.outputs()[0].value.rank(), 1);
  EXPECT_TRUE(same(interpret(graph, {Array::from<float>({2, 1}, {1, 2})})[0], Array::from<float>({2}, {1, 2})));
  const std::string text = error_text([&] { interpret(graph, {Array(f32, {2, 3})}); });
  EXPECT_NE(text.find("the branch of If that was taken when the model was read"), std::string::npos) << text;
  EXPECT_NE(text.find("squeeze"), std::string::npos) << text;
}

TEST(OnnxControl, SizesThatAreToldDecideBranches) {
  const OnnxModelBuilder model = squeezed_by_size("two");
  EXPECT_NE(error_text([&] { imported(model, {.at = {{"m", 1}}}); }), "");
  EXPECT_EQ(imported(model, {.at = {{"m", 3}}}).outputs()[0].value.rank(), 2);
  EXPECT_EQ(imported(model, {.dims = {{"x", {5, 3}}}}).outputs()[0].value.rank(), 2);
}

TEST(OnnxControl, SizesByDataInABodyAreRefusedByName) {
  OnnxModelBuilder model;
  model.input("x", "f32[n]");
  model.node("Size", {"x"}, {"trips"});
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

/// A loop, or one in another, whose bodies draw; `seed` is none where it is negative.
OnnxModelBuilder drawing_loop(double seed, bool by_value) {
  OnnxModelBuilder model;
  model.input("x", "f32[n]");
  model.constant("three", Array::scalar(i64, 3));
  model.constant("limit", Array::scalar(f32, 100));
  proto::GraphProto inner;
  GraphBuilder builder = begin_body(inner);
  const std::vector<proto::AttributeProto> seeds =
      seed < 0 ? std::vector<proto::AttributeProto>() : std::vector{attribute("seed", seed)};
  builder.node("RandomUniformLike", {"state"}, {"drawn"}, seeds);
  builder.node("Add", {"state", "drawn"}, {"next"});
  builder.node("ReduceMax", {"next"}, {"most"}, {attribute("keepdims", int64_t{0})});
  builder.node("Less", {"most", "limit"}, {"small"});
  builder.node("Identity", {by_value ? "small" : "c"}, {"c_out"});
  for (const char* name : {"c_out", "next", "drawn"}) {
    builder.output(name);
  }
  proto::GraphProto outer;
  GraphBuilder around(outer);
  around.input("k", "i64[]");
  around.input("goes_on", "bool[]");
  around.input("before", "f32[n]");
  around.node("Loop", {"three", "", "before"}, {"behind", "table"}, {attribute("body", inner)});
  around.node("Identity", {"goes_on"}, {"goes_on_out"});
  for (const char* name : {"goes_on_out", "behind", "table"}) {
    around.output(name);
  }
  model.node("Loop", {"three", "", "x"}, {"last", "all"}, {attribute("body", by_value ? inner : outer)});
  model.output("all");
  return model;
}

TEST(OnnxControl, TripsDrawNumbersOfTheirOwn) {
  const Array x(f32, {4});
  for (const double seed : {-1.0, 5.0}) {
    for (const bool by_value : {false, true}) {
      const Graph graph = imported(drawing_loop(seed, by_value));
      const Array all = interpret(graph, {x})[0];
      ASSERT_EQ(all.size(), by_value ? 12 : 36);
      std::set<double> numbers;
      for (int64_t i = 0; i < all.size(); ++i) {
        numbers.insert(all.at(i));
      }
      EXPECT_EQ(std::ssize(numbers), all.size()) << seed << " " << by_value;
      EXPECT_TRUE(same(all, interpret(imported(drawing_loop(seed, by_value)), {x})[0]));  // the same in every run
    }
  }
}

TEST(OnnxControl, StepsOfScansDrawNumbersOfTheirOwn) {
  OnnxModelBuilder model;
  model.input("x", "f32[n, 2]");
  proto::GraphProto body;
  GraphBuilder builder(body);
  builder.input("row", "f32[2]");
  builder.node("RandomUniformLike", {"row"}, {"drawn"});
  builder.output("drawn");
  model.node("Scan", {"x"}, {"y"}, {attribute("body", body), attribute("num_scan_inputs", int64_t{1})});
  model.output("y");
  const Array y = interpret(imported(model), {Array(f32, {3, 2})})[0];
  std::set<double> numbers;
  for (int64_t i = 0; i < y.size(); ++i) {
    numbers.insert(y.at(i));
  }
  EXPECT_EQ(std::ssize(numbers), 6);
}

}  // namespace
}  // namespace tenon::import_control_test
