// What sizes, or values that are given at import, decide of a model.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/fail.h"
#include "base/refused.h"
#include "onnx/import/importer.h"
#include "onnx/model_builder.h"
#include "support/arrays.h"
#include "support/error_text.h"
#include "tenon/interpreter.h"
#include "tenon/onnx.h"

namespace tenon::decided_test {
namespace {

/// x[n, m], and its sizes `n` and `m` beside `n_is_one`, `m_is_one` and `one`.
OnnxModelBuilder with_sizes() {
  OnnxModelBuilder model;
  model.input("x", "f32[n, m]");
  model.constant("zero", Array::scalar(i64, 0));
  model.constant("one", Array::scalar(i64, 1));
  model.node("Shape", {"x"}, {"shape"});
  model.node("Gather", {"shape", "zero"}, {"n"});
  model.node("Gather", {"shape", "one"}, {"m"});
  model.node("Equal", {"n", "one"}, {"n_is_one"});
  model.node("Equal", {"m", "one"}, {"m_is_one"});
  return model;
}

/// y is x as a row of all its elements where the flag is set, else x: of another rank.
void add_choice(OnnxModelBuilder& model, const std::string& flag) {
  model.constant("all", ints({-1}));
  proto::GraphProto flat;
  GraphBuilder(flat).node("Reshape", {"x", "all"}, {"a"});
  GraphBuilder(flat).output("a");
  proto::GraphProto same;
  GraphBuilder(same).node("Identity", {"x"}, {"b"});
  GraphBuilder(same).output("b");
  model.node("If", {flag}, {"y"}, {attribute("then_branch", flat), attribute("else_branch", same)}).set_name("choice");
  model.output("y");
}

struct SizeChoice {
  const char* name;
  std::function<void(OnnxModelBuilder&)> flag;  // makes `flag`
  std::function<bool(int64_t, int64_t)> expected;
};

class SizesDecide : public testing::TestWithParam<SizeChoice> {};

TEST_P(SizesDecide, WhichBranchIsTaken) {
  OnnxModelBuilder model = with_sizes();
  GetParam().flag(model);
  add_choice(model, "flag");
  for (const int64_t n : {1, 3}) {
    for (const int64_t m : {1, 2, 4}) {
      const Graph graph = imported(model, {.dims = {{"x", {n, m}}}});
      EXPECT_EQ(graph.outputs()[0].value.rank(), GetParam().expected(n, m) ? 1 : 2) << n << " " << m;
      const Array x = Array::full(f32, {n, m}, 2);
      EXPECT_EQ(interpret(graph, {x})[0].size(), n * m);
    }
  }
  // Sizes that would take the other branch are refused.
  const Graph graph = imported(model, {.dims = {{"x", {1, 1}}}});
  EXPECT_NE(error_text([&] {
              interpret(graph, {Array(f32, {3, 4})});
            }).find("the branch of If that was taken when the model was read"),
            std::string::npos);
}

const SizeChoice kChoices[] = {
    {"And", [](OnnxModelBuilder& model) { model.node("And", {"n_is_one", "m_is_one"}, {"flag"}); },
     [](int64_t n, int64_t m) { return n == 1 && m == 1; }},
    {"Or", [](OnnxModelBuilder& model) { model.node("Or", {"n_is_one", "m_is_one"}, {"flag"}); },
     [](int64_t n, int64_t m) { return n == 1 || m == 1; }},
    {"Xor", [](OnnxModelBuilder& model) { model.node("Xor", {"n_is_one", "m_is_one"}, {"flag"}); },
     [](int64_t n, int64_t m) { return (n == 1) != (m == 1); }},
    {"NotOfAnd",
     [](OnnxModelBuilder& model) {
       model.node("And", {"n_is_one", "m_is_one"}, {"both"});
       model.node("Not", {"both"}, {"flag"});
     },
     [](int64_t n, int64_t m) { return !(n == 1 && m == 1); }},
    {"Where",
     [](OnnxModelBuilder& model) {
       model.constant("two", Array::scalar(i64, 2));
       model.node("Where", {"n_is_one", "m", "n"}, {"size"});
       model.node("Greater", {"size", "two"}, {"flag"});
     },
     [](int64_t n, int64_t m) { return (n == 1 ? m : n) > 2; }},
    {"ReduceMin",
     [](OnnxModelBuilder& model) {
       model.node("ReduceMin", {"shape"}, {"least"}, {attribute("keepdims", int64_t{0})});
       model.node("Equal", {"least", "one"}, {"flag"});
     },
     [](int64_t n, int64_t m) { return std::min(n, m) == 1; }},
    {"ReduceMaxOfFlags",
     [](OnnxModelBuilder& model) {
       model.constant("ones", ints({1, 1}));
       model.node("Equal", {"shape", "ones"}, {"are_one"});
       model.node("Cast", {"are_one"}, {"numbers"}, {attribute("to", int64_t{7})});
       model.node("ReduceMax", {"numbers"}, {"most"}, {attribute("keepdims", int64_t{0})});
       model.node("Cast", {"most"}, {"flag"}, {attribute("to", int64_t{9})});
     },
     [](int64_t n, int64_t m) { return n == 1 || m == 1; }},
};

INSTANTIATE_TEST_SUITE_P(Flags, SizesDecide, testing::ValuesIn(kChoices),
                         [](const auto& row) { return std::string(row.param.name); });

/// To 6 columns whatever the width, as a quotient of sizes: [1, 1, 2, 6 / width].
TEST(OnnxDecided, ScalesThatAreQuotientsOfSizesMakeSizes) {
  OnnxModelBuilder model;
  model.input("x", "f32[1, 1, h, w]");
  model.constant("three", ints({3}));
  model.constant("four", ints({4}));
  model.constant("six", Array::from<float>({1}, {6}));
  model.constant("kept", Array::from<float>({3}, {1, 1, 2}));
  model.node("Shape", {"x"}, {"shape"});
  model.node("Slice", {"shape", "three", "four"}, {"width"});
  model.node("Cast", {"width"}, {"float_width"}, {attribute("to", int64_t{1})});
  model.node("Div", {"six", "float_width"}, {"factor"});
  model.node("Concat", {"kept", "factor"}, {"scales"}, {attribute("axis", int64_t{0})});
  model.node("Resize", {"x", "", "scales"}, {"y"}, {attribute("mode", std::string("linear"))});
  model.output("y");
  const Graph graph = imported(model);
  EXPECT_EQ(graph.outputs()[0].value.shape().to_string(), "f32[1, 1, 2*h, 6]");
  const Array y = interpret(graph, {Array::from<float>({1, 1, 1, 3}, {0, 3, 6})})[0];
  const float row[] = {0, 0.75F, 2.25F, 3.75F, 5.25F, 6};
  for (int64_t i = 0; i < 12; ++i) {
    EXPECT_NEAR(y.at(i), row[i % 6], 1e-5) << i;
  }
}

/// As opsets 9 and 10 have it, and exporters write it: floor(height * 2) / height.
TEST(OnnxDecided, ScalesOfOlderOpsetsToo) {
  for (const char* const op : {"Upsample", "Resize"}) {
    OnnxModelBuilder model(op == std::string("Resize") ? 10 : 9);
    model.input("x", "f32[n, c, h, w]");
    model.constant("kept", Array::from<float>({2}, {1, 1}));
    std::vector<std::string> parts = {"kept"};
    for (const auto& [axis, times] : {std::pair<std::string, float>{"2", 2.F}, {"3", 3.F}}) {
      model.constant("axis" + axis, ints({axis == "2" ? 2 : 3}));
      model.constant("times" + axis, Array::from<float>({1}, {times}));
      model.node("Shape", {"x"}, {"shape" + axis});
      model.node("Gather", {"shape" + axis, "axis" + axis}, {"size" + axis});
      model.node("Cast", {"size" + axis}, {"number" + axis}, {attribute("to", int64_t{1})});
      model.node("Mul", {"number" + axis, "times" + axis}, {"product" + axis});
      model.node("Floor", {"product" + axis}, {"wanted" + axis});
      model.node("Div", {"wanted" + axis, "number" + axis}, {"scale" + axis});
      parts.push_back("scale" + axis);
    }
    model.node("Concat", parts, {"scales"}, {attribute("axis", int64_t{0})});
    model.node(op, {"x", "scales"}, {"y"});
    model.output("y");
    const Graph graph = imported(model);
    EXPECT_EQ(graph.outputs()[0].value.shape().to_string(), "f32[n, c, 2*h, 3*w]") << op;
    EXPECT_TRUE(same(interpret(graph, {Array::from<float>({1, 1, 1, 2}, {1, 2})})[0],
                     Array::from<float>({1, 1, 2, 6}, {1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2})))
        << op;
  }
}

/// Branches of two ranks by an input: its value is asked for, and then decides.
TEST(OnnxDecided, AValueThatIsGivenDecidesABranch) {
  OnnxModelBuilder model;
  model.input("x", "f32[n, m]");
  model.input("flag", "bool[1]");
  add_choice(model, "flag");
  try {
    imported(model);
    FAIL();
  } catch (const OnnxValueNeeded& needed) {
    EXPECT_EQ(needed.input(), "flag");
    EXPECT_NE(std::string(needed.what()).find("which branch is taken"), std::string::npos) << needed.what();
  }
  for (const int64_t set : {0, 1}) {
    // One integer stands for whatever the input is.
    const Graph graph = imported(model, {.values = {{"flag", Array::from<int64_t>({}, {set})}}});
    EXPECT_EQ(graph.outputs()[0].value.rank(), set == 1 ? 1 : 2);
    EXPECT_EQ(graph.inputs().size(), 1);
  }
  EXPECT_EQ(error_text([&] { imported(model, {.values = {{"flag", Array(f32, {2})}}}); }),
            "the value of input `flag` is f32[2], must be bool[1]");
}

TEST(OnnxDecided, TripsThatAreGivenWriteAGrowingLoopOut) {
  OnnxModelBuilder model;
  model.input("x", "f32[n]");
  model.input("trips", "i64[]");
  model.node("Loop", {"trips", "", "x"}, {"y"}, {attribute("body", growing_body("x"))}).set_name("growing");
  model.output("y");
  try {
    imported(model);
    FAIL();
  } catch (const OnnxValueNeeded& needed) {
    EXPECT_EQ(needed.input(), "trips");
  }
  const Graph graph = imported(model, {.values = {{"trips", Array::from<int64_t>({}, {2})}}});
  EXPECT_EQ(graph.outputs()[0].value.shape().to_string(), "f32[3*n]");
  const Graph none = imported(model, {.values = {{"trips", Array::from<int64_t>({}, {0})}}});
  EXPECT_EQ(none.outputs()[0].value.shape().to_string(), "f32[n]");
  EXPECT_EQ(error_text([&] { imported(model, {.values = {{"trips", Array::from<int64_t>({}, {300})}}}); }),
            "carried value 0 is f32[n] before an iteration and f32[2*n] behind it\n  at node \"growing\" (Loop)\n"
            "  the loop makes 300 trips; up to 256 can be read one by one");
}

/// Sums of x up to each counter: trips of other shapes, as many as x is long.
OnnxModelBuilder sums_before_counters() {
  OnnxModelBuilder model;
  model.input("x", "f32[n]");
  model.constant("zeros", ints({0}));
  model.constant("none", Array::scalar(f32, 0));
  model.node("Size", {"x"}, {"trips"});
  proto::GraphProto body;
  GraphBuilder builder(body);
  builder.input("i", "i64[]");
  builder.input("c", "bool[]");
  builder.input("state", "f32[]");
  builder.node("Identity", {"c"}, {"c_out"});
  builder.node("Unsqueeze", {"i", "zeros"}, {"end"});
  builder.node("Slice", {"x", "zeros", "end"}, {"part"}).set_name("cut");
  builder.node("ReduceSum", {"part"}, {"sum"}, {attribute("keepdims", int64_t{0})});
  builder.node("Add", {"state", "sum"}, {"next"});
  builder.node("Identity", {"sum"}, {"kept"});
  for (const char* name : {"c_out", "next", "kept"}) {
    builder.output(name);
  }
  model.node("Loop", {"trips", "", "none"}, {"last", "all"}, {attribute("body", body)}).set_name("loop");
  model.output("all");
  return model;
}

TEST(OnnxDecided, SizesThatAreToldWriteALoopOut) {
  const Graph graph = imported(sums_before_counters(), {.at = {{"n", 4}}});
  EXPECT_TRUE(
      same(interpret(graph, {Array::from<float>({4}, {1, 2, 3, 4})})[0], Array::from<float>({4}, {0, 1, 3, 6})));
  EXPECT_EQ(error_text([&] { interpret(graph, {Array(f32, {5})}); }),
            "axis `n` is 5, must be 4: needed by Loop\n  at node \"loop\"");
  EXPECT_EQ(interpret(imported(sums_before_counters(), {.at = {{"n", 0}}}), {Array(f32, {0})})[0].dims(),
            (std::vector<int64_t>{0}));
  const std::string text = error_text([] { imported(sums_before_counters()); });
  EXPECT_NE(text.find("at node \"cut\""), std::string::npos) << text;
  EXPECT_NE(text.find("the loop makes n trips, of sizes that can be given when the model is read; up to 256 can be "
                      "read one by one"),
            std::string::npos)
      << text;
}

/// What the other reading of a branch cannot mend is told at once: only what is refused is tried again.
TEST(Decided, ErrorsThatAreNoRefusalEndTheImport) {
  OnnxModelBuilder model = with_sizes();
  add_choice(model, "n_is_one");
  const OnnxOptions options;
  importer::Importer importer(model.model(), importer::ExternalFiles(""), options);
  EXPECT_EQ(importer.attempted([]() -> int { refuse("of another rank"); }), std::nullopt);
  EXPECT_EQ(importer.attempted([] { return 3; }), 3);
  EXPECT_THROW((void)importer.attempted([]() -> int { fail("a file that is gone"); }), Error);
  EXPECT_THROW((void)importer.attempted([]() -> int { throw OnnxValueNeeded("k", "its value"); }), OnnxValueNeeded);
}

}  // namespace
}  // namespace tenon::decided_test
