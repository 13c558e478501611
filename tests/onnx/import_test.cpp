// What a model becomes.
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/node.h"
#include "onnx/model_builder.h"
#include "support/arrays.h"
#include "tenon/interpreter.h"
#include "tenon/onnx.h"
#include "tenon/text.h"

namespace tenon::import_test {
namespace {

/// The names of the operations, inputs and constants left out.
std::vector<std::string> operations(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node* node : graph.nodes()) {
    if (!node->as<Input>() && !node->as<Constant>()) {
      names.emplace_back(op_name(node->op));
    }
  }
  return names;
}

using Names = std::vector<std::string>;

TEST(OnnxImport, NamesOfSizesAreAxes) {
  OnnxModelBuilder model;
  model.input("x", "f32[batch, 3, -1]");
  model.node("Relu", {"x"}, {"y"});
  model.output("y");
  const Graph graph = imported(model);
  EXPECT_EQ(graph.inputs()[0].shape().to_string(), "f32[batch, 3, x.2]");
  EXPECT_EQ(graph.outputs()[0].value.shape(), graph.inputs()[0].shape());
  EXPECT_EQ(operations(graph), Names{"relu"});
}

TEST(OnnxImport, ANodeWithoutOutputsIsRefused) {
  OnnxModelBuilder model;
  model.input("x", "f32[n]");
  model.node("Bernoulli", {"x"}, {});
  model.output("x");
  EXPECT_NE(error_text([&] { imported(model); }).find("it has no outputs, so that nothing can use what it computes"),
            std::string::npos);
}

TEST(OnnxImport, ExpressionsOfNamesAreSizes) {
  const auto shapes = [](const std::vector<std::string>& params) {
    OnnxModelBuilder model;
    auto& shape = *model.input("x", "f32[1]").mutable_type()->mutable_tensor_type()->mutable_shape();
    shape.clear_dim();
    for (const std::string& param : params) {
      shape.add_dim()->set_dim_param(param);
    }
    model.node("Relu", {"x"}, {"y"});
    model.output("y");
    const Graph graph = imported(model);
    return graph.inputs()[0].shape().to_string();
  };
  EXPECT_EQ(shapes({"2*batch", "seq+1"}), "f32[2*batch, seq+1]");
  EXPECT_EQ(shapes({"past + seq", "seq"}), "f32[past+seq, seq]");
  EXPECT_EQ(shapes({"a*b", "a", "b"}), "f32[a*b, a, b]");
  // Nothing would tell what these names are: they stay names themselves, as do texts that are something else.
  EXPECT_EQ(shapes({"batch-size", "n*n"}), "f32[`batch-size`, `n*n`]");
  EXPECT_EQ(shapes({"floor(n/2)", "128", "a b", "mod"}), "f32[`floor(n/2)`, `128`, `a b`, `mod`]");
}

TEST(OnnxImport, AModelWithSizesThatAreExpressionsBindsTheirNames) {
  OnnxModelBuilder model;
  auto& x = model.input("x", "f32[1]");
  x.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param("2*n");
  model.input("y", "f32[n]");
  model.node("Concat", {"x", "y"}, {"z"}, {attribute("axis", int64_t{0})});
  model.output("z");
  const Graph graph = imported(model);
  EXPECT_EQ(graph.outputs()[0].value.shape().to_string(), "f32[3*n]");
  EXPECT_EQ(interpret(graph, {Array(f32, {4}), Array(f32, {2})})[0].dims(), std::vector<int64_t>{6});
  EXPECT_NE(error_text([&] { interpret(graph, {Array(f32, {4}), Array(f32, {3})}); }), "no error");
}

TEST(OnnxImport, RemaindersOfSizesHaveTheSignOfTheDivisor) {
  for (const bool fmod : {false, true}) {
    OnnxModelBuilder model;
    model.input("x", "f32[n]");
    model.constant("a", ints({-7, 7, -7, 7, 6}));
    model.constant("b", ints({3, -3, -3, 3, -3}));
    model.node("Mod", {"a", "b"}, {"rest"}, {attribute("fmod", int64_t{fmod})});
    model.constant("ten", ints({10}));
    model.node("Add", {"rest", "ten"}, {"to"});
    model.node("ConstantOfShape", {"to"}, {"y"});
    model.output("y");
    EXPECT_EQ(imported(model).outputs()[0].value.shape().to_string(),
              fmod ? "f32[9, 11, 9, 11, 10]" : "f32[12, 8, 9, 11, 10]");
  }
}

TEST(OnnxImport, ReshapesOfNothing) {
  const auto reshaped = [](const std::string& from, const std::vector<int64_t>& to, bool allowzero) {
    OnnxModelBuilder model;
    model.input("x", from);
    model.constant("to", ints(to));
    model.node("Reshape", {"x", "to"}, {"y"}, {attribute("allowzero", int64_t{allowzero})});
    model.output("y");
    std::string shape;
    const std::string error = error_text([&] { shape = imported(model).outputs()[0].value.shape().to_string(); });
    return error == "no error" ? shape : error;
  };
  EXPECT_EQ(reshaped("f32[3, 0, col]", {3, 0}, true), "f32[3, 0]");
  EXPECT_EQ(reshaped("f32[3, 0, col]", {0, 5}, true), "f32[0, 5]");
  EXPECT_EQ(reshaped("f32[3, 0, col]", {0, 0, 0}, false), "f32[3, 0, col]");
  EXPECT_NE(reshaped("f32[3, 2]", {3, 2, 0}, false).find("at node \"Reshape -> y\""), std::string::npos);
}

TEST(OnnxImport, NamesThatMeetAreOne) {
  OnnxModelBuilder model;
  model.input("a", "f32[batch]");
  model.input("b", "f32[other]");
  model.node("Add", {"a", "b"}, {"y"});
  model.output("y");
  const Graph graph = imported(model);
  const Array two = Array::from<float>({2}, {1, 2});
  EXPECT_TRUE(same(interpret(graph, {two, two})[0], Array::from<float>({2}, {2, 4})));
  EXPECT_NE(error_text([&] { interpret(graph, {two, Array(f32, {3})}); }), "no error");
}

// What exporters write for x.view(x.size(0), -1, 4).
TEST(OnnxImport, ReshapeChainsDisappear) {
  OnnxModelBuilder model;
  model.input("x", "f32[batch, seq, 8]");
  model.node("Shape", {"x"}, {"shape"});
  model.constant("zero", Array::scalar(i64, 0));
  model.node("Gather", {"shape", "zero"}, {"batch"});
  model.constant("axes", ints({0}));
  model.node("Unsqueeze", {"batch", "axes"}, {"batch1"});
  model.constant("rest", ints({-1, 4}));
  model.node("Concat", {"batch1", "rest"}, {"to"}, {attribute("axis", int64_t{0})});
  model.node("Reshape", {"x", "to"}, {"y"});
  model.output("y");
  const Graph graph = imported(model);
  EXPECT_EQ(operations(graph), Names{"reshape"});
  EXPECT_EQ(graph.outputs()[0].value.shape().to_string(), "f32[batch, 2*seq, 4]");
}

TEST(OnnxImport, ArithmeticOnSizesIsExact) {
  OnnxModelBuilder model;
  model.input("x", "f32[n, 6]");
  model.node("Shape", {"x"}, {"shape"});
  model.constant("half", Array::from<float>({2}, {0.5F, 0.5F}));
  model.node("Cast", {"shape"}, {"floats"}, {attribute("to", int64_t{1})});
  model.node("Mul", {"floats", "half"}, {"halves"});
  model.node("Floor", {"halves"}, {"floors"});
  model.node("Cast", {"floors"}, {"to"}, {attribute("to", int64_t{7})});
  model.node("ConstantOfShape", {"to"}, {"y"});
  model.output("y");
  EXPECT_EQ(imported(model).outputs()[0].value.shape().to_string(), "f32[n floordiv 2, 3]");
}

TEST(OnnxImport, AValueThatDecidesAShapeMustBeGiven) {
  OnnxModelBuilder model;
  model.input("x", "f32[n, 6]");
  model.input("to", "i64[2]");
  model.node("Reshape", {"x", "to"}, {"y"});
  model.output("y");
  try {
    imported(model);
    FAIL();
  } catch (const OnnxValueNeeded& needed) {
    EXPECT_EQ(needed.input(), "to");
    EXPECT_EQ(std::string(needed.what()),
              "input 1 depends on the value of input `to`, which must be given at import\n"
              "  at node \"Reshape -> y\" (Reshape)");
  }
  const Graph graph = imported(model, {.values = {{"to", ints({-1, 3})}}, .shapes = {}});
  EXPECT_EQ(graph.inputs().size(), 1U);
  EXPECT_EQ(graph.outputs()[0].value.shape().to_string(), "f32[2*n, 3]");
}

TEST(OnnxImport, OtherShapesTakeThePlaceOfTheFiles) {
  OnnxModelBuilder model;
  model.input("x", "f32[2, 3]");
  model.node("Relu", {"x"}, {"y"});
  model.output("y");
  const Graph graph = imported(model, {.values = {}, .shapes = {{"x", shape(f32, "rows", 3)}}});
  EXPECT_EQ(graph.outputs()[0].value.shape().to_string(), "f32[rows, 3]");
  EXPECT_EQ(error_text([&] { imported(model, {.values = {}, .shapes = {{"z", shape(f32)}}}); }),
            "the model has no input `z`");
}

TEST(OnnxImport, AllThatIsNotSupportedIsListed) {
  OnnxModelBuilder model;
  model.input("x", "f32[n]");
  model.node("StringNormalizer", {"x"}, {"a"});
  model.node("Frobnicate", {"x"}, {"b"}).set_name("first");
  model.node("Frobnicate", {"x"}, {"c"}).set_name("second");
  model.node("Thing", {"x"}, {"d"}, {}, "org.example");
  model.output("d");
  EXPECT_EQ(error_text([&] { imported(model); }),
            "the model has operators that are not supported: Frobnicate (2, first at \"first\"), "
            "StringNormalizer (1, first at \"a\"), org.example.Thing (1, first at \"d\")");
}

TEST(OnnxImport, OpsetsBeyondOursAreRefused) {
  EXPECT_EQ(error_text([] { imported(OnnxModelBuilder(29)); }), "the model is of opset 29; 1 to 28 are supported");
  EXPECT_EQ(error_text([] { imported(OnnxModelBuilder(0)); }), "the model is of opset 0; 1 to 28 are supported");
}

TEST(OnnxImport, FunctionsTakeAttributes) {
  OnnxModelBuilder model;
  model.opset("local", 1);
  auto& function = *model.model().add_functions();
  function.set_name("Scaled");
  function.set_domain("local");
  function.add_input("x");
  function.add_output("y");
  function.add_attribute("by");
  function.add_opset_import()->set_version(17);
  proto::GraphProto body;
  GraphBuilder builder(body);
  auto& leaky = builder.node("LeakyRelu", {"x"}, {"y"});
  auto& reference = *leaky.add_attribute();
  reference.set_name("alpha");
  reference.set_ref_attr_name("by");
  reference.set_type(proto::AttributeProto::FLOAT);
  *function.mutable_node() = body.node();
  model.input("x", "f32[2]");
  model.node("Scaled", {"x"}, {"a"}, {attribute("by", 0.5)}, "local");
  model.node("Scaled", {"a"}, {"y"}, {}, "local");  // the operator's own default
  model.output("y");
  const Array y = interpret(imported(model), {Array::from<float>({2}, {-8, 8})})[0];
  EXPECT_TRUE(close(y, Array::from<float>({2}, {-0.04F, 8}), 1e-6));
}

TEST(OnnxImport, PlacesAreNodes) {
  OnnxModelBuilder model;
  model.input("x", "f32[2, 3]");
  model.input("w", "f32[4, 5]");
  model.node("MatMul", {"x", "w"}, {"y"}).set_name("/layers.0/MatMul");
  model.output("y");
  const std::string text = error_text([&] { imported(model); });
  EXPECT_NE(text.find("axis 1 of `x` is 3, axis 0 of `w` is 4"), std::string::npos) << text;
  EXPECT_NE(text.find("/layers.0/MatMul"), std::string::npos) << text;
}

/// What becomes of a write to positions that are computed from sizes.
TEST(OnnxImport, AScatterToASliceIsAnUpdate) {
  const auto made = [](int64_t first, int64_t step, const std::string& op) {
    OnnxModelBuilder model;
    model.input("x", "f32[n, 3]");
    model.input("y", "f32[m, 3]");
    model.node("Shape", {"y"}, {"dims"}, {attribute("end", int64_t{1})});
    model.node("Squeeze", {"dims"}, {"count"});
    model.constant("first", Array::scalar(i64, static_cast<double>(first)));
    model.constant("step", Array::scalar(i64, static_cast<double>(step)));
    model.constant("zero", Array::scalar(i64, 0));
    model.constant("one", Array::scalar(i64, 1));
    model.node("Range", {"zero", "count", "one"}, {"counted"});
    model.node("Mul", {"counted", "step"}, {"scaled"});
    model.node("Add", {"scaled", "first"}, {"places"});
    model.constant("last", Array::from<int64_t>({1}, {1}));
    model.node("Unsqueeze", {"places", "last"}, {"positions"});
    model.node("ScatterND", {"x", "positions", "y"}, {"z"}, {attribute("reduction", op)});
    model.output("z");
    return imported(model);
  };
  const Graph graph = made(2, 1, "none");
  EXPECT_EQ(operations(graph), Names{"update"});
  const Array x(f32, {5, 3});
  const Array y = Array::full(f32, {2, 3}, 7);
  const Array z = interpret(graph, {x, y})[0];
  for (int64_t i = 0; i < z.size(); ++i) {
    EXPECT_EQ(z.at(i), i >= 6 && i < 12 ? 7 : 0) << i;
  }
  EXPECT_EQ(interpret(graph, {x, Array(f32, {0, 3})})[0].dims(), x.dims());
  const std::string text = error_text([&] { interpret(graph, {x, Array(f32, {4, 3})}); });
  EXPECT_NE(text.find("at node \"ScatterND -> z\""), std::string::npos) << text;
  // Every second row, from the end, or by adding: not one slice.
  for (const Graph& other : {made(0, 2, "none"), made(-2, 1, "none"), made(2, 1, "add")}) {
    const Names names = operations(other);
    EXPECT_NE(std::ranges::find(names, "scatter"), names.end());
  }
}

TEST(OnnxImport, AMaskIsNoLongerThanItsAxis) {
  OnnxModelBuilder model;
  model.input("x", "f32[n, 3]");
  model.input("mask", "bool[m]");
  model.node("Compress", {"x", "mask"}, {"y"}, {attribute("axis", int64_t{0})}).set_name("squash");
  model.output("y");
  const Graph graph = imported(model);
  const auto run = [&](int64_t n, int64_t m) {
    return interpret(graph, {Array(f32, {n, 3}), Array::full(boolean, {m}, 1)})[0].dims()[0];
  };
  EXPECT_EQ(run(4, 4), 4);
  EXPECT_EQ(run(4, 2), 2);
  EXPECT_EQ(run(4, 0), 0);
  const std::string text = error_text([&] { run(4, 5); });
  EXPECT_NE(text.find("axis `n` is 4, must be at least axis `m`, which is 5: needed by the mask of Compress"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("at node \"squash\""), std::string::npos) << text;
}

TEST(OnnxImport, SequencesLeaveNothingBehind) {
  OnnxModelBuilder model;
  model.input("x", "f32[n, 4]");
  model.constant("two", Array::scalar(i64, 2));
  model.node("SplitToSequence", {"x", "two"}, {"parts"}, {attribute("axis", int64_t{1})});
  model.constant("last", Array::scalar(i64, -1));
  model.node("SequenceAt", {"parts", "last"}, {"y"});
  model.output("y");
  EXPECT_EQ(operations(imported(model)), Names{"slice"});
}

TEST(Import, SaysWhichNodesGiveWhatAnotherGives) {
  OnnxModelBuilder model;
  model.input("x", "f32[n]");
  model.node("Exp", {"x"}, {"a"}).set_name("first");
  model.node("Exp", {"x"}, {"b"}).set_name("second");
  model.node("Identity", {"x"}, {"c"}).set_name("nothing");
  model.node("Sum", {"a", "b", "c"}, {"y"}).set_name("sum");
  model.output("y");
  std::map<std::string, std::string, std::less<>> merged;
  (void)imported(model, {.merged = &merged});
  EXPECT_EQ(merged, (std::map<std::string, std::string, std::less<>>{{"nothing", "x"}, {"second", "first"}}));
}

}  // namespace
}  // namespace tenon::import_test
