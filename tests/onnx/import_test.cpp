// What a model becomes.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

#include "ir/node.h"
#include "onnx/model_builder.h"
#include "support/arrays.h"
#include "tenon/interpreter.h"
#include "tenon/onnx.h"
#include "tenon/text.h"

namespace tenon {
namespace {

Array ints(const std::vector<int64_t>& values) { return Array::from({static_cast<int64_t>(values.size())}, values); }

Graph imported(const OnnxModelBuilder& model, const OnnxOptions& options = {}) {
  return import_onnx_bytes(model.bytes(), {}, options);
}

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

TEST(OnnxImport, ChoicesBySizesAreMade) {
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

TEST(OnnxImport, OpsetsDifferInWhatTheyMean) {
  // A softmax of opset 12 flattens; that of 13 is along one axis.
  for (const int opset : {12, 13}) {
    OnnxModelBuilder model(opset);
    model.input("x", "f32[2, 2, 2]");
    model.node("Softmax", {"x"}, {"y"}, {attribute("axis", int64_t{1})});
    model.output("y");
    const Array y = interpret(imported(model), {Array(f32, {2, 2, 2})})[0];
    EXPECT_DOUBLE_EQ(y.at(0), opset == 12 ? 0.25 : 0.5);
  }
}

TEST(OnnxImport, ReductionsOverNoAxesAreDoneToEachElement) {
  const auto reduced = [](const std::string& type) {
    OnnxModelBuilder model(18);
    model.input("x", "f32[n]");
    model.constant("axes", ints({}));
    model.node(type, {"x", "axes"}, {"y"}, {attribute("noop_with_empty_axes", int64_t{1})});
    model.output("y");
    return interpret(imported(model), {Array::from<float>({2}, {-2, 1})})[0];
  };
  for (const char* type : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceLogSumExp"}) {
    EXPECT_TRUE(close(reduced(type), Array::from<float>({2}, {-2, 1}))) << type;
  }
  EXPECT_TRUE(same(reduced("ReduceL1"), Array::from<float>({2}, {2, 1})));
  EXPECT_TRUE(close(reduced("ReduceL2"), Array::from<float>({2}, {2, 1})));
  EXPECT_TRUE(same(reduced("ReduceSumSquare"), Array::from<float>({2}, {4, 1})));
  EXPECT_EQ(reduced("ReduceLogSum").at(1), 0);
}

/// Held in eight bits, they are still numbers of four.
TEST(OnnxImport, HalvesOfBytesKeepTheirRange) {
  constexpr int64_t uint4 = 21;
  constexpr int64_t int4 = 22;
  const Array x = Array::from<float>({5}, {-9.5F, -8, 7, 8, 17});
  const auto made = [&](const std::string& type, const char* attribute_name, int64_t to) {
    OnnxModelBuilder model(21);
    model.input("x", "f32[n]");
    model.constant("one", Array::scalar(f32, 1));
    model.node(type, type == "Cast" ? std::vector<std::string>{"x"} : std::vector<std::string>{"x", "one"}, {"y"},
               {attribute(attribute_name, to)});
    model.output("y");
    return interpret(imported(model), {x})[0];
  };
  EXPECT_TRUE(same(made("Cast", "to", int4), Array::from<int8_t>({5}, {7, -8, 7, -8, 1})));
  EXPECT_TRUE(same(made("Cast", "to", uint4), Array::from<uint8_t>({5}, {7, 8, 7, 8, 1})));
  EXPECT_TRUE(same(made("QuantizeLinear", "output_dtype", int4), Array::from<int8_t>({5}, {-8, -8, 7, 7, 7})));
  EXPECT_TRUE(same(made("QuantizeLinear", "output_dtype", uint4), Array::from<uint8_t>({5}, {0, 0, 7, 8, 15})));
  // The type of a zero point is that of the result.
  OnnxModelBuilder model(21);
  model.input("x", "f32[n]");
  model.constant("one", Array::scalar(f32, 1));
  auto& zero = *model.model().mutable_graph()->add_initializer();
  zero.set_name("zero");
  zero.set_data_type(int4);
  zero.add_int32_data(1);
  model.node("QuantizeLinear", {"x", "one", "zero"}, {"y"});
  model.node("CastLike", {"x", "zero"}, {"z"});
  model.output("y");
  model.output("z");
  const std::vector<Array> results = interpret(imported(model), {x});
  EXPECT_TRUE(same(results[0], Array::from<int8_t>({5}, {-8, -7, 7, 7, 7})));
  EXPECT_TRUE(same(results[1], Array::from<int8_t>({5}, {7, -8, 7, -8, 1})));
}

TEST(OnnxImport, HalfOfTheFrequenciesGiveTheSignalBack) {
  const auto transform = [](const std::string& shape, bool inverse, const Array& x, std::optional<int64_t> length) {
    OnnxModelBuilder model(20);
    model.input("x", shape);
    model.constant("axis", Array::scalar(i64, 1));
    if (length) {
      model.constant("length", Array::scalar(i64, static_cast<double>(*length)));
    }
    model.node("DFT", {"x", length ? "length" : "", "axis"}, {"y"},
               {attribute("onesided", int64_t{1}), attribute("inverse", int64_t{inverse})});
    model.output("y");
    return interpret(imported(model), {x})[0];
  };
  for (const int64_t size : {2, 5, 8}) {
    Array x(f32, {2, size, 1});
    for (int64_t i = 0; i < x.size(); ++i) {
      x.mutable_values<float>()[static_cast<size_t>(i)] = static_cast<float>((i * 7) % 5);
    }
    const Array half = transform("f32[b, n, 1]", false, x, std::nullopt);
    ASSERT_EQ(half.dims(), (std::vector<int64_t>{2, size / 2 + 1, 2}));
    EXPECT_TRUE(close(transform("f32[b, n, 2]", true, half, size), x, 1e-5, 1e-5));
    if (size % 2 == 0) {
      EXPECT_TRUE(close(transform("f32[b, n, 2]", true, half, std::nullopt), x, 1e-5, 1e-5));
    }
  }
}

TEST(OnnxImport, APictureAtItsOwnPointsIsThePicture) {
  for (const std::vector<int64_t>& size : {std::vector<int64_t>{3, 4}, {2, 3, 4}}) {
    const auto rank = static_cast<int64_t>(size.size());
    std::vector<int64_t> dims = {1, 2};
    dims.insert(dims.end(), size.begin(), size.end());
    Array picture(f32, dims);
    for (int64_t i = 0; i < picture.size(); ++i) {
      picture.mutable_values<float>()[static_cast<size_t>(i)] = static_cast<float>(i);
    }
    Array same_place(f32, {1, rank, rank + 1});
    for (int64_t i = 0; i < rank; ++i) {
      same_place.mutable_values<float>()[static_cast<size_t>(i * (rank + 2))] = 1;
    }
    for (const int64_t align : {0, 1}) {
      OnnxModelBuilder model(20);
      model.input("x", rank == 2 ? "f32[n, c, h, w]" : "f32[n, c, d, h, w]");
      model.constant("theta", same_place);
      model.node("Shape", {"x"}, {"size"});
      model.node("AffineGrid", {"theta", "size"}, {"grid"}, {attribute("align_corners", align)});
      model.node("GridSample", {"x", "grid"}, {"y"},
                 {attribute("mode", std::string("linear")), attribute("align_corners", align)});
      model.output("y");
      EXPECT_TRUE(close(interpret(imported(model), {picture})[0], picture, 1e-5, 1e-5)) << rank << " " << align;
    }
  }
}

TEST(OnnxImport, BlocksAddUpWhereTheyOverlap) {
  OnnxModelBuilder model(18);
  model.input("x", "f32[n, 2, 3]");
  model.constant("picture", ints({4}));
  model.constant("block", ints({2}));
  model.node("Col2Im", {"x", "picture", "block"}, {"y"});
  model.output("y");
  const Array x = Array::from<float>({1, 2, 3}, {1, 2, 3, 10, 20, 30});
  EXPECT_TRUE(same(interpret(imported(model), {x})[0], Array::from<float>({1, 1, 4}, {1, 12, 23, 30})));
}

TEST(OnnxImport, OpsetsBeyondOursAreRefused) {
  EXPECT_EQ(error_text([] { imported(OnnxModelBuilder(23)); }), "the model is of opset 23; 1 to 22 are supported");
  EXPECT_EQ(error_text([] { imported(OnnxModelBuilder(0)); }), "the model is of opset 0; 1 to 22 are supported");
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

TEST(OnnxImport, LoopsCarryAndStack) {
  OnnxModelBuilder model;
  model.input("x", "f32[n]");
  model.constant("trips", Array::scalar(i64, 3));
  model.constant("go", Array::scalar(boolean, 1));
  proto::GraphProto body;
  GraphBuilder builder(body);
  builder.input("i", "i64[]");
  builder.input("c", "bool[]");
  builder.input("state", "f32[n]");
  builder.node("Identity", {"c"}, {"c_out"});
  builder.node("Add", {"state", "x"}, {"next"});
  builder.node("Identity", {"next"}, {"kept"});
  builder.output("c_out");
  builder.output("next");
  builder.output("kept");
  model.node("Loop", {"trips", "go", "x"}, {"last", "all"}, {attribute("body", body)});
  model.output("last");
  model.output("all");
  const std::vector<Array> results = interpret(imported(model), {Array::from<float>({2}, {1, 2})});
  EXPECT_TRUE(same(results[0], Array::from<float>({2}, {4, 8})));
  EXPECT_TRUE(same(results[1], Array::from<float>({3, 2}, {2, 4, 3, 6, 4, 8})));
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
  GraphBuilder builder(body);
  builder.input("i", "i64[]");
  builder.input("c", "bool[]");
  builder.input("state", "f32[n]");
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

TEST(OnnxImport, LoopsThatDoNotBeginGiveWhatTheyGot) {
  for (const char* go_on : {"c", "no", "less"}) {
    const std::vector<Array> results = run_loop_that_ends(imported(loop_that_ends({"no", go_on, true})), true);
    EXPECT_TRUE(same(results[0], Array::from<float>({2}, {1, 2}))) << go_on;
    EXPECT_TRUE(same(results[1], Array(f32, {0, 2}))) << go_on;
  }
}

TEST(OnnxImport, LoopsThatAlwaysEndMakeOneTrip) {
  const std::vector<Array> results = run_loop_that_ends(imported(loop_that_ends({"yes", "no", true})), true);
  EXPECT_TRUE(same(results[0], Array::from<float>({2}, {2, 4})));
  EXPECT_TRUE(same(results[1], Array::from<float>({1, 2}, {2, 4})));
}

TEST(OnnxImport, AnInputSaysWhetherALoopBegins) {
  const std::pair<const char*, float> trips[] = {{"c", 4}, {"no", 1}, {"less", 2}};
  for (const auto& [go_on, count] : trips) {
    const Graph graph = imported(loop_that_ends({"given", go_on, false}));
    EXPECT_TRUE(same(run_loop_that_ends(graph, false)[0], Array::from<float>({2}, {1, 2}))) << go_on;
    EXPECT_TRUE(same(run_loop_that_ends(graph, true)[0], Array::from<float>({2}, {1 + count, 2 + 2 * count}))) << go_on;
  }
}

TEST(OnnxImport, StacksNeedToKnowWhetherTheirLoopBegins) {
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

TEST(OnnxImport, SizesByDataInABodyAreRefusedByName) {
  OnnxModelBuilder model;
  model.input("x", "f32[n]");
  model.constant("trips", Array::scalar(i64, 3));
  proto::GraphProto body;
  GraphBuilder builder(body);
  builder.input("i", "i64[]");
  builder.input("c", "bool[]");
  builder.input("state", "f32[n]");
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

}  // namespace
}  // namespace tenon
