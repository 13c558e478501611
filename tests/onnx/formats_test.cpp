// Elements of formats that are held as bytes stay of their format wherever they are moved, and are never taken for
// numbers; attributes of functions have their defaults.
#include <gtest/gtest.h>

#include "onnx/model_builder.h"
#include "support/arrays.h"
#include "support/error_text.h"
#include "tenon/interpreter.h"

namespace tenon::formats_test {
namespace {

constexpr int kInt4 = 22;
constexpr int kFloat8 = 17;                       // E4M3FN
const std::string kCodes("\x38\xC0\x4A\x01", 4);  // 1, -2, 5, 2^-9
const Array kNumbers = Array::from<float>({4}, {1, -2, 5, 0.001953125F});

proto::TensorProto codes(int type) {
  proto::TensorProto result;
  result.set_data_type(type);
  result.add_dims(4);
  result.set_raw_data(type == kInt4 ? kCodes.substr(0, 2) : kCodes);
  return result;
}

/// `value` as a Constant, moved by an operator and cast to f32.
OnnxModelBuilder moved(const std::string& type, const std::vector<Array>& more,
                       const std::vector<proto::AttributeProto>& attributes = {}) {
  OnnxModelBuilder model(19);
  proto::AttributeProto value;
  value.set_name("value");
  value.set_type(proto::AttributeProto::TENSOR);
  *value.mutable_t() = codes(kFloat8);
  model.node("Constant", {}, {"c"}, {value});
  std::vector<std::string> names = {"c"};
  for (const Array& each : more) {
    names.push_back("m" + std::to_string(names.size()));
    model.constant(names.back(), each);
  }
  model.node(type, names, {"moved"}, attributes).set_name("culprit");
  model.node("Cast", {"moved"}, {"y"}, {attribute("to", int64_t{proto::TensorProto::FLOAT})});
  model.output("y");
  return model;
}

TEST(OnnxFormats, GoWithWhatIsMoved) {
  const auto result = [](const OnnxModelBuilder& model) { return interpret(imported(model), {})[0].reshaped({4}); };
  EXPECT_TRUE(same(result(moved("Identity", {})), kNumbers));
  EXPECT_TRUE(same(result(moved("Reshape", {ints({2, 2})})), kNumbers));
  EXPECT_TRUE(same(result(moved("Unsqueeze", {ints({0})})), kNumbers));
  EXPECT_TRUE(same(result(moved("Transpose", {})), kNumbers));
  EXPECT_TRUE(same(result(moved("Slice", {ints({0}), ints({4})})), kNumbers));
  EXPECT_TRUE(same(result(moved("Gather", {ints({0, 1, 2, 3})})), kNumbers));
  EXPECT_TRUE(same(result(moved("Expand", {ints({1, 4})})), kNumbers));
}

TEST(OnnxFormats, AreNoNumbers) {
  for (const char* const type : {"Relu", "Abs", "ReduceMax"}) {
    const std::string text = error_text([&] { imported(moved(type, {})); });
    EXPECT_EQ(text.substr(0, text.find('\n')), std::string(type) +
                                                   " of FLOAT8E4M3FN elements is not supported: a Cast "
                                                   "before it makes them numbers");
    EXPECT_NE(text.find("at node \"culprit\""), std::string::npos) << text;
  }
}

TEST(OnnxFormats, OfAConstantZeroPoint) {
  OnnxModelBuilder model(21);
  model.input("x", "f32[n]");
  model.constant("scale", Array::from<float>({}, {0.5F}));
  proto::AttributeProto value;
  value.set_name("value");
  value.set_type(proto::AttributeProto::TENSOR);
  *value.mutable_t() = codes(kInt4);
  value.mutable_t()->clear_dims();
  value.mutable_t()->set_raw_data(std::string(1, '\0'));
  model.node("Constant", {}, {"zero"}, {value});
  model.node("QuantizeLinear", {"x", "scale", "zero"}, {"q"});
  model.node("DequantizeLinear", {"q", "scale", "zero"}, {"y"});
  model.output("y");
  const Array x = Array::from<float>({3}, {-100, 1, 100});
  EXPECT_TRUE(same(interpret(imported(model), {x})[0], Array::from<float>({3}, {-4, 1, 3.5F})));
}

TEST(OnnxFunctions, AttributesHaveDefaults) {
  OnnxModelBuilder model(17);
  model.opset("own", 1);
  proto::FunctionProto& function = *model.model().add_functions();
  function.set_name("leaky");
  function.set_domain("own");
  function.add_input("a");
  function.add_output("b");
  function.add_opset_import()->set_version(17);
  proto::NodeProto& node = *function.add_node();
  node.set_op_type("LeakyRelu");
  node.add_input("a");
  node.add_output("b");
  proto::AttributeProto& alpha = *node.add_attribute();
  alpha.set_name("alpha");
  alpha.set_ref_attr_name("slope");
  alpha.set_type(proto::AttributeProto::FLOAT);
  // FunctionProto::attribute_proto, which older headers do not have.
  constexpr int kDefaults = 11;
  function.mutable_unknown_fields()->AddLengthDelimited(kDefaults)->assign(attribute("slope", 0.5).SerializeAsString());
  model.input("x", "f32[n]");
  model.node("leaky", {"x"}, {"y"}, {}, "own");
  model.node("leaky", {"x"}, {"z"}, {attribute("slope", 0.25)}, "own");
  model.output("y");
  model.output("z");
  const std::vector<Array> results = interpret(imported(model), {Array::from<float>({2}, {-4, 3})});
  EXPECT_TRUE(same(results[0], Array::from<float>({2}, {-2, 3})));
  EXPECT_TRUE(same(results[1], Array::from<float>({2}, {-1, 3})));
}

}  // namespace
}  // namespace tenon::formats_test
