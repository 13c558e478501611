// What ONNX Runtime's optimiser writes: products with an activation behind them.
#include <gtest/gtest.h>

#include "onnx/model_builder.h"
#include "support/arrays.h"
#include "tenon/interpreter.h"

namespace tenon::import_fused_test {
namespace {

TEST(OnnxFused, ActivationsStandBehindProducts) {
  const auto result = [](bool fused) {
    OnnxModelBuilder model;
    model.opset("com.microsoft", 1);
    model.input("x", "f32[1, 1, 3, 3]");
    model.input("a", "f32[2, 2]");
    const std::vector<proto::AttributeProto> conv = {attribute("activation", std::string("Relu"))};
    const std::vector<proto::AttributeProto> gemm = {attribute("transB", int64_t{1}),
                                                     attribute("activation", std::string("LeakyRelu")),
                                                     attribute("activation_alpha", 0.5)};
    model.constant("none", Array::from<float>({1}, {-2}));
    if (fused) {
      model.node("FusedConv", {"x", "x", "none", "x2"}, {"y"}, conv, "com.microsoft");
      model.node("FusedGemm", {"a", "a"}, {"z"}, gemm, "com.microsoft");
    } else {
      model.node("Conv", {"x", "x", "none"}, {"c"});
      model.node("Add", {"c", "x2"}, {"d"});
      model.node("Relu", {"d"}, {"y"});
      model.node("Gemm", {"a", "a"}, {"g"}, {attribute("transB", int64_t{1})});
      model.node("LeakyRelu", {"g"}, {"z"}, {attribute("alpha", 0.5)});
    }
    model.constant("x2", Array::from<float>({1, 1, 1, 1}, {0.25F}));
    model.output("y");
    model.output("z");
    return interpret(imported(model), {Array::from<float>({1, 1, 3, 3}, {1, -2, 3, 0, 1, 2, -1, 1, 0.5F}),
                                       Array::from<float>({2, 2}, {1, -2, 3, 4})});
  };
  const std::vector<Array> expected = result(false);
  const std::vector<Array> actual = result(true);
  EXPECT_TRUE(same(actual[0], expected[0]));
  EXPECT_TRUE(same(actual[1], expected[1]));
}

}  // namespace
}  // namespace tenon::import_fused_test
