// Quantised models: integers stay integers.
#include <gtest/gtest.h>

#include <random>

#include "ir/node.h"
#include "ir/walk.h"
#include "onnx/model_builder.h"
#include "support/arrays.h"
#include "support/compiled.h"
#include "tenon/compile.h"
#include "tenon/interpreter.h"
#include "tenon/onnx.h"

namespace tenon::quantised_test {
namespace {

std::vector<int64_t> numbers(int64_t count, int64_t low, int64_t high, uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::uniform_int_distribution<int64_t> each(low, high);
  std::vector<int64_t> result(static_cast<size_t>(count));
  for (int64_t& number : result) {
    number = each(rng);
  }
  return result;
}

template <class T>
Array integers(std::vector<int64_t> dims, int64_t low, int64_t high, uint64_t seed) {
  int64_t count = 1;
  for (const int64_t dim : dims) {
    count *= dim;
  }
  const std::vector<int64_t> list = numbers(count, low, high, seed);
  return Array::from<T>(std::move(dims), std::vector<T>(list.begin(), list.end()));
}

/// sum((a - a_zero) * (b - b_zero)), with a zero point for each row of a, or one, and the same for columns of b.
Array obvious_product(const Array& a, const Array& a_zero, const Array& b, const Array& b_zero) {
  const int64_t rows = a.dims()[0];
  const int64_t depth = a.dims()[1];
  const int64_t columns = b.dims()[1];
  std::vector<int32_t> sums;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < depth; ++k) {
        sum += (a.at(i * depth + k) - a_zero.at(a_zero.size() == 1 ? 0 : i)) *
               (b.at(k * columns + j) - b_zero.at(b_zero.size() == 1 ? 0 : j));
      }
      sums.push_back(static_cast<int32_t>(sum));
    }
  }
  return Array::from<int32_t>({rows, columns}, sums);
}

/// The interpreter's and the compiled result, which must be the same bits.
Array run_both_ways(const Graph& graph, const std::vector<Array>& inputs) {
  const Array expected = interpret(graph, inputs)[0];
  const Array got = compile(graph).run(inputs)[0];
  EXPECT_TRUE(same(got, expected));
  return got;
}

TEST(OnnxQuantised, IntegerProductsAreExact) {
  constexpr int64_t rows = 9;
  constexpr int64_t depth = 70;
  constexpr int64_t columns = 33;
  const Array a = integers<uint8_t>({rows, depth}, 0, 255, 1);
  const Array zeros[] = {Array::from<uint8_t>({}, {0}), Array::from<uint8_t>({}, {131}),
                         integers<uint8_t>({rows}, 0, 255, 2)};
  const Array b = integers<int8_t>({depth, columns}, -128, 127, 3);
  const Array b_zeros[] = {Array::from<int8_t>({}, {0}), Array::from<int8_t>({}, {-7}),
                           integers<int8_t>({columns}, -128, 127, 4)};
  for (const Array& a_zero : zeros) {
    for (const Array& b_zero : b_zeros) {
      for (const bool constant_weights : {true, false}) {
        OnnxModelBuilder model;
        model.input("a", "u8[n, 70]");
        std::vector<Array> inputs = {a};
        if (constant_weights) {
          model.constant("b", b);
        } else {
          model.input("b", "i8[70, m]");
          inputs.push_back(b);
        }
        model.constant("a_zero", a_zero);
        model.constant("b_zero", b_zero);
        model.node("MatMulInteger", {"a", "b", "a_zero", "b_zero"}, {"y"});
        model.output("y");
        EXPECT_TRUE(same(run_both_ways(imported(model), inputs), obvious_product(a, a_zero, b, b_zero)));
      }
    }
  }
}

/// What is computed on the way into a product is stored as bytes, not as words.
TEST(OnnxQuantised, OperandsThatAreComputedStayBytes) {
  const Array a = integers<uint8_t>({37, 70}, 0, 255, 1);
  const Array b = integers<int8_t>({70, 50}, -128, 127, 3);
  OnnxModelBuilder model;
  model.input("a", "u8[n, 70]");
  model.constant("b", b);
  model.constant("flip", integers<uint8_t>({70}, 0, 255, 7));
  model.node("BitwiseXor", {"a", "flip"}, {"flipped"});
  model.node("MatMulInteger", {"flipped", "b"}, {"y"});
  model.output("y");
  model.model().mutable_opset_import(0)->set_version(18);
  run_both_ways(imported(model), {a});
}

TEST(OnnxQuantised, PaddingOfIntegerConvolutionsIsTheZeroPoint) {
  const Array x = integers<uint8_t>({2, 3, 7, 6}, 0, 255, 5);
  const Array w = integers<int8_t>({4, 3, 3, 3}, -128, 127, 6);
  const auto run = [&](bool as_one, int64_t zero) {
    OnnxModelBuilder model;
    model.input("x", "u8[n, 3, h, w]");
    model.constant("w", w);
    model.constant("zero", Array::from<uint8_t>({}, {static_cast<uint8_t>(zero)}));
    const proto::AttributeProto pads = attribute("pads", std::vector<int64_t>{1, 2, 1, 0});
    if (as_one) {
      model.node("ConvInteger", {"x", "w", "zero"}, {"y"}, {pads});
    } else {
      model.node("Cast", {"x"}, {"wide"}, {attribute("to", int64_t{6})});
      model.node("Cast", {"zero"}, {"wide_zero"}, {attribute("to", int64_t{6})});
      model.node("Sub", {"wide", "wide_zero"}, {"centered"});
      model.node("Cast", {"w"}, {"wide_w"}, {attribute("to", int64_t{6})});
      model.node("Conv", {"centered", "wide_w"}, {"y"}, {pads});
    }
    model.output("y");
    return run_both_ways(imported(model), {x});
  };
  for (const int64_t zero : {0, 100}) {
    EXPECT_TRUE(same(run(true, zero), run(false, zero))) << zero;
  }
}

/// DequantizeLinear on both sides of an operator, with a scale for each channel of the weight.
OnnxModelBuilder dequantised(const std::string& type, const Array& w, const Array& scales, int64_t axis) {
  OnnxModelBuilder model;
  model.input("x", type == "Conv" ? "u8[n, 3, h, w]" : "u8[n, 12]");
  model.constant("x_scale", Array::scalar(f32, 0.5));
  model.constant("x_zero", Array::from<uint8_t>({}, {120}));
  model.constant("w", w);
  model.constant("w_scale", scales);
  model.node("DequantizeLinear", {"x", "x_scale", "x_zero"}, {"a"});
  model.node("DequantizeLinear", {"w", "w_scale"}, {"b"}, {attribute("axis", axis)});
  model.node(type, {"a", "b"}, {"y"},
             type == "Gemm" ? std::vector{attribute("transB", int64_t{1})} : std::vector<proto::AttributeProto>{});
  model.output("y");
  return model;
}

bool has_float_product(const Graph& graph) {
  for (const Node* node : graph.nodes()) {
    const bool is_product = node->as<Contract>() != nullptr || node->as<Conv>() != nullptr;
    if (is_product && is_float(node->shapes[0].dtype())) {
      return true;
    }
  }
  return false;
}

TEST(OnnxQuantised, ProductsOfDequantisedValuesAreOfIntegers) {
  const Array scales = Array::from<float>({4}, {0.25F, 0.5F, 1, 2});
  const struct {
    const char* type;
    Array w;
    int64_t axis;
    Array x;
  } cases[] = {
      {"MatMul", integers<int8_t>({12, 4}, -127, 127, 8), 1, integers<uint8_t>({5, 12}, 0, 255, 9)},
      {"Gemm", integers<int8_t>({4, 12}, -127, 127, 8), 0, integers<uint8_t>({5, 12}, 0, 255, 9)},
      {"Conv", integers<int8_t>({4, 3, 3, 3}, -127, 127, 8), 0, integers<uint8_t>({2, 3, 6, 5}, 0, 255, 9)},
  };
  for (const auto& each : cases) {
    const Graph graph = imported(dequantised(each.type, each.w, scales, each.axis));
    EXPECT_FALSE(has_float_product(graph)) << each.type;
    // Scales are powers of two: numbers of f32 are exact too.
    OnnxModelBuilder plain = dequantised(each.type, each.w, scales, each.axis);
    auto& nodes = *plain.model().mutable_graph()->mutable_node();
    proto::NodeProto copy;  // an Identity in between hides where the numbers come from
    copy.set_op_type("Mul");
    copy.add_input("b");
    copy.add_input("unit");
    copy.add_output("b2");
    plain.constant("unit", Array::scalar(f32, 1));
    nodes.Mutable(2)->set_input(1, "b2");
    *nodes.Add() = copy;
    nodes.SwapElements(2, 3);
    const Graph of_floats = imported(plain);
    EXPECT_TRUE(has_float_product(of_floats)) << each.type;
    EXPECT_TRUE(same(run_both_ways(graph, {each.x}), interpret(of_floats, {each.x})[0])) << each.type;
  }
}

}  // namespace
}  // namespace tenon::quantised_test
