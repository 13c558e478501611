// What becomes of quantised values on their way through a model: integers where they can stay integers.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "ir/node.h"
#include "ir/walk.h"
#include "onnx/model_builder.h"
#include "support/arrays.h"
#include "support/error_text.h"
#include "tenon/compile.h"
#include "tenon/interpreter.h"
#include "tenon/text.h"

namespace tenon::quantised_import_test {
namespace {

template <class T>
Array bytes(std::vector<int64_t> dims, uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::uniform_int_distribution<int> each(std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
  Array result(dtype_of<T>(), std::move(dims));
  for (T& number : result.mutable_values<T>()) {
    number = static_cast<T>(each(rng));
  }
  return result;
}

bool has_float_product(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const Node* node) {
    const bool is_product = node->as<Contract>() != nullptr || node->as<Conv>() != nullptr;
    return is_product && is_float(node->shapes[0].dtype());
  });
}

bool has_row(const Graph& graph, std::string_view name) {
  return std::ranges::any_of(graph.nodes(), [&](const Node* node) {
    const auto* map = node->as<Map>();
    return map != nullptr && map->fn->name == name;
  });
}

/// The interpreter's and the compiled results, which must be the same bits.
Array run_both_ways(const Graph& graph, const std::vector<Array>& inputs) {
  const Array expected = interpret(graph, inputs)[0];
  EXPECT_TRUE(same(compile(graph, {.disk_cache = false}).run(inputs)[0], expected));
  return expected;
}

/// x by scale 1/2 and zero point 3 as numbers; scales are powers of two, so that numbers of f32 are exact.
void dequantise(OnnxModelBuilder& model, const std::string& x, const std::string& y, const Array& zero,
                const Array& scale = Array::scalar(f32, 0.5)) {
  model.constant(y + "_zero", zero);
  model.constant(y + "_scale", scale);
  model.node("DequantizeLinear", {x, y + "_scale", y + "_zero"}, {y});
}

TEST(OnnxQuantisedImport, SoftmaxBeforeOpset13SeesAMatrix) {
  const auto softmax_of = [](const std::string& shape, int64_t axis, int64_t opset) {
    OnnxModelBuilder model;
    model.opset("com.microsoft", 1);
    model.input("x", shape);
    for (const char* const scale : {"in_scale", "out_scale"}) {
      model.constant(scale, Array::scalar(f32, scale[0] == 'i' ? 0.03125 : 0.00390625));
    }
    model.constant("zero", Array::scalar(Dtype::u8, 0));
    model.node("QLinearSoftmax", {"x", "in_scale", "zero", "out_scale", "zero"}, {"y"},
               {attribute("axis", axis), attribute("opset", opset)}, "com.microsoft");
    model.output("y");
    return imported(model);
  };
  const Array x = bytes<uint8_t>({2, 3, 4}, 1);
  const Array rows = interpret(softmax_of("u8[2, 12]", 1, 13), {x.reshaped({2, 12})})[0];
  EXPECT_TRUE(same(run_both_ways(softmax_of("u8[2, 3, 4]", 1, 12), {x}), rows.reshaped({2, 3, 4})));
}

TEST(OnnxQuantisedImport, ZerosAloneHaveAScaleOfOne) {
  OnnxModelBuilder model;
  model.input("x", "f32[n]");
  model.node("DynamicQuantizeLinear", {"x"}, {"y", "scale", "zero"});
  model.output("scale");
  EXPECT_TRUE(same(run_both_ways(imported(model), {Array(f32, {3})}), Array::scalar(f32, 1)));
}

TEST(OnnxQuantisedImport, ProductsOfTwoActivationsAreOfIntegers) {
  const struct {
    const char *a, *b;
    std::vector<int64_t> a_dims, b_dims;
  } cases[] = {
      {"u8[n, 5, 12]", "i8[n, 12, 7]", {3, 5, 12}, {3, 12, 7}},
      {"u8[n, 2, 5, 12]", "i8[1, 2, 12, 7]", {3, 2, 5, 12}, {1, 2, 12, 7}},
      {"u8[5, 12]", "i8[n, 12, 7]", {5, 12}, {3, 12, 7}},
      {"u8[n, 70]", "i8[70, 9]", {4, 70}, {70, 9}},
  };
  for (const auto& each : cases) {
    OnnxModelBuilder model;
    model.input("a", each.a);
    model.input("b", each.b);
    dequantise(model, "a", "left", Array::from<uint8_t>({}, {131}));
    dequantise(model, "b", "right", Array::from<int8_t>({1}, {-7}), Array::from<float>({1}, {0.25F}));
    model.node("MatMul", {"left", "right"}, {"y"});
    model.output("y");
    const Graph graph = imported(model);
    EXPECT_FALSE(has_float_product(graph)) << each.a;
    const Array a = bytes<uint8_t>(each.a_dims, 1);
    const Array b = bytes<int8_t>(each.b_dims, 2);
    const Value x = constant(a.cast(f32));
    const Value y = constant(b.cast(f32));
    const Graph obvious(std::vector<Value>{}, {{"y", matmul((x - 131.0) * 0.5, (y + 7.0) * 0.25)}});
    EXPECT_TRUE(same(run_both_ways(graph, {a, b}), interpret(obvious, {})[0])) << each.a;
  }
}

/// Some exporters give a scale for each column as [1, n].
TEST(OnnxQuantisedImport, ScalesWithAxesOfOne) {
  const Array w = bytes<int8_t>({12, 4}, 3);
  const Array x = bytes<uint8_t>({5, 12}, 4);
  const auto made = [&](const std::vector<int64_t>& dims) {
    OnnxModelBuilder model;
    model.input("x", "u8[n, 12]");
    model.constant("w", w);
    model.constant("bias", Array::from<int32_t>({4}, {1, -2, 3, 400}));
    const Array scales = Array::from<float>(dims, {0.25F, 0.5F, 1, 2});
    dequantise(model, "x", "a", Array::from<uint8_t>({}, {120}));
    dequantise(model, "w", "b", Array(i8, dims), scales);
    dequantise(model, "bias", "c", Array(i32, dims), scales);
    model.node("Gemm", {"a", "b", "c"}, {"y"});
    model.output("y");
    return imported(model);
  };
  const Graph graph = made({1, 4});
  EXPECT_FALSE(has_float_product(graph));
  EXPECT_TRUE(same(run_both_ways(graph, {x}), run_both_ways(made({4}), {x})));
}

TEST(OnnxQuantisedImport, ABiasOfConvolutionsByScalesWithAxesOfOne) {
  const auto made = [&](const std::vector<int64_t>& dims) {
    OnnxModelBuilder model;
    model.input("x", "u8[n, 3, 6]");
    model.constant("w", bytes<int8_t>({4, 3, 2}, 5));
    model.constant("bias", Array::from<int32_t>({4}, {1, -2, 3, 400}));
    dequantise(model, "x", "a", Array::from<uint8_t>({}, {120}));
    dequantise(model, "w", "b", Array::from<int8_t>({}, {0}));
    dequantise(model, "bias", "c", Array(i32, dims), Array::from<float>(dims, {0.25F, 0.5F, 1, 2}));
    model.node("Conv", {"a", "b", "c"}, {"y"});
    model.output("y");
    return imported(model);
  };
  const Array x = bytes<uint8_t>({2, 3, 6}, 6);
  EXPECT_TRUE(same(run_both_ways(made({1, 4}), {x}), run_both_ways(made({4}), {x})));
}

/// x, dequantised, through `between`, and quantised by the same scale and zero point, or others.
template <class F>
Graph pair_around(F&& between, double scale_behind = 0.5, uint8_t zero_behind = 3) {
  OnnxModelBuilder model;
  model.input("x", "u8[n, 4, 6]");
  dequantise(model, "x", "a", Array::from<uint8_t>({}, {3}));
  const std::string last = between(model, "a");
  model.constant("scale", Array::scalar(f32, scale_behind));
  model.constant("zero", Array::from<uint8_t>({}, {zero_behind}));
  model.node("QuantizeLinear", {last, "scale", "zero"}, {"y"});
  model.output("y");
  return imported(model);
}

TEST(OnnxQuantisedImport, ToQuantiseWhatWasDequantisedGivesItBack) {
  const auto nothing = [](OnnxModelBuilder&, const std::string& x) { return x; };
  const Array x = bytes<uint8_t>({3, 4, 6}, 7);
  const Graph graph = pair_around(nothing);
  EXPECT_FALSE(has_row(graph, "round"));
  EXPECT_TRUE(same(run_both_ways(graph, {x}), x));
  for (const Graph& other : {pair_around(nothing, 0.25), pair_around(nothing, 0.5, 4)}) {
    EXPECT_TRUE(has_row(other, "round"));
    EXPECT_FALSE(same(run_both_ways(other, {x}), x));
  }
}

TEST(OnnxQuantisedImport, WhatOnlyMovesElementsMovesTheIntegers) {
  const auto moved = [](OnnxModelBuilder& model, const std::string& x) {
    model.constant("to", ints({0, -1, 2}));
    model.constant("start", ints({1}));
    model.constant("end", ints({10}));
    model.constant("axis", ints({1}));
    model.constant("picks", ints({2, 0, -1}));
    model.node("Transpose", {x}, {"m0"}, {attribute("perm", std::vector<int64_t>{0, 2, 1})});
    model.node("Reshape", {"m0", "to"}, {"m1"});
    model.node("Slice", {"m1", "start", "end", "axis"}, {"m2"});
    model.node("Gather", {"m2", "picks"}, {"m3"}, {attribute("axis", int64_t{1})});
    model.node("Unsqueeze", {"m3", "axis"}, {"m4"});
    return std::string("m4");
  };
  const Graph graph = pair_around(moved);
  EXPECT_FALSE(has_row(graph, "round")) << to_text(graph);
  EXPECT_FALSE(has_row(graph, "mul")) << to_text(graph);
  const Array x = bytes<uint8_t>({3, 4, 6}, 8);
  const Array y = run_both_ways(graph, {x});
  ASSERT_EQ(y.dims(), (std::vector<int64_t>{3, 1, 3, 2}));
  // [n, 4, 6] as [n, 12, 2]: row r, column c is element 2r + c of the transposed one; rows are 1 + {2, 0, 8}.
  const auto at = [&](int64_t n, int64_t row, int64_t column) {
    const int64_t flat = row * 2 + column;
    return x.at(n * 24 + flat % 4 * 6 + flat / 4);
  };
  for (int64_t n = 0; n < 3; ++n) {
    for (int64_t c = 0; c < 2; ++c) {
      EXPECT_EQ(y.at((n * 3 + 0) * 2 + c), at(n, 3, c));
      EXPECT_EQ(y.at((n * 3 + 1) * 2 + c), at(n, 1, c));
      EXPECT_EQ(y.at((n * 3 + 2) * 2 + c), at(n, 9, c));
    }
  }
}

TEST(OnnxQuantisedImport, QuantisingClampsOnce) {
  OnnxModelBuilder model;
  model.input("x", "f32[n]");
  model.constant("scale", Array::scalar(f32, 0.5));
  model.constant("zero", Array::from<int8_t>({}, {10}));
  model.node("QuantizeLinear", {"x", "scale", "zero"}, {"y"});
  model.output("y");
  const Graph graph = imported(model);
  for (const char* row : {"clamp", "min", "max"}) {
    EXPECT_FALSE(has_row(graph, row)) << "the cast saturates";
  }
  constexpr float inf = std::numeric_limits<float>::infinity();
  const Array x = Array::from<float>({9}, {0, 0.25F, 0.75F, -0.75F, 58.5F, 59, -1000, inf, -inf});
  EXPECT_TRUE(same(run_both_ways(graph, {x}), Array::from<int8_t>({9}, {10, 10, 12, 8, 127, 127, -128, 127, -128})));
}

TEST(OnnxQuantisedImport, MaximaOfIntegers) {
  for (const bool is_signed : {false, true}) {
    OnnxModelBuilder model;
    model.input("x", is_signed ? "i8[n, 2, h, w]" : "u8[n, 2, h, w]");
    model.node("MaxPool", {"x"}, {"y"},
               {attribute("kernel_shape", std::vector<int64_t>{3, 2}), attribute("strides", std::vector<int64_t>{2, 1}),
                attribute("pads", std::vector<int64_t>{1, 1, 1, 0})});
    model.output("y");
    const Array x = is_signed ? bytes<int8_t>({2, 2, 5, 4}, 9) : bytes<uint8_t>({2, 2, 5, 4}, 9);
    const Array y = run_both_ways(imported(model), {x});
    ASSERT_EQ(y.dims(), (std::vector<int64_t>{2, 2, 3, 4}));
    ASSERT_EQ(y.dtype(), x.dtype());
    for (int64_t plane = 0; plane < 4; ++plane) {
      for (int64_t i = 0; i < 3; ++i) {
        for (int64_t j = 0; j < 4; ++j) {
          double largest = -1000;
          for (int64_t a = std::max<int64_t>(2 * i - 1, 0); a < std::min<int64_t>(2 * i + 2, 5); ++a) {
            for (int64_t b = std::max<int64_t>(j - 1, 0); b < j + 1; ++b) {
              largest = std::max(largest, x.at((plane * 5 + a) * 4 + b));
            }
          }
          EXPECT_EQ(y.at((plane * 3 + i) * 4 + j), largest);
        }
      }
    }
  }
}

/// A maximum of numbers that were dequantised is one of the integers.
TEST(OnnxQuantisedImport, MaximaBetweenPairsAreOfIntegers) {
  const auto pooled = [](OnnxModelBuilder& model, const std::string& x) {
    model.node("MaxPool", {x}, {"largest"}, {attribute("kernel_shape", std::vector<int64_t>{2})});
    return std::string("largest");
  };
  const Graph graph = pair_around(pooled);
  EXPECT_FALSE(has_row(graph, "round"));
  const Array x = bytes<uint8_t>({3, 4, 6}, 10);
  const Array y = run_both_ways(graph, {x});
  EXPECT_EQ(y.at(0), std::max(x.at(0), x.at(1)));
}

TEST(OnnxQuantisedImport, ErrorsOfScalesAndZeroPoints) {
  const auto said = [](const std::string& type, const Array& scale, const Array& zero) {
    return error_text([&] {
      OnnxModelBuilder model;
      model.input("x", type == "QuantizeLinear" ? "f32[n, 4]" : "u8[n, 4]");
      model.constant("scale", scale);
      model.constant("zero", zero);
      model.node(type, {"x", "scale", "zero"}, {"y"});
      model.output("y");
      imported(model);
    });
  };
  const Array one = Array::scalar(f32, 1);
  for (const std::string type : {"QuantizeLinear", "DequantizeLinear"}) {
    EXPECT_TRUE(mentions(said(type, Array::full(f32, {3}, 1), Array(u8, {3})),
                         {"axis 1 of x is 4, but there are 3 scales or zero points"}));
    EXPECT_TRUE(mentions(said(type, Array::full(f32, {2, 2, 1}, 1), Array(u8, {})),
                         {"f32[2, 2, 1]", "must be one, or one for each element of an axis"}));
    EXPECT_TRUE(mentions(said(type, Array::full(i32, {}, 1), Array(u8, {})), {"the scale is i32[]"}));
    EXPECT_EQ(said(type, one, Array(u8, {})), "no error");
  }
  EXPECT_TRUE(mentions(said("DequantizeLinear", one, Array(i8, {})), {"the zero point is i8[], must be u8"}));
  EXPECT_TRUE(mentions(said("QuantizeLinear", one, Array(i64, {})), {"quantisation to i64 is not supported"}));
}

TEST(OnnxQuantisedImport, StatesOfRecurrentLayersAreFloats) {
  const auto said = [](const std::string& state) {
    return error_text([&] {
      OnnxModelBuilder model;
      model.opset("com.microsoft", 1);
      model.input("x", "f32[seq, n, 3]");
      model.input("h", state + "[1, n, 2]");
      model.constant("w", bytes<int8_t>({1, 3, 8}, 1));
      model.constant("r", bytes<int8_t>({1, 2, 8}, 2));
      model.constant("scale", Array::full(f32, {1}, 0.01));
      model.constant("zero", Array(i8, {1}));
      model.node("DynamicQuantizeLSTM", {"x", "w", "r", "", "", "h", "h", "", "scale", "zero", "scale", "zero"}, {"y"},
                 {attribute("hidden_size", int64_t{2})}, "com.microsoft");
      model.output("y");
      imported(model);
    });
  };
  EXPECT_EQ(said("f32"), "no error");
  EXPECT_TRUE(mentions(said("i8"), {"initial_h is i8[1, n, 2], must be f32 as the input is"}));
}

}  // namespace
}  // namespace tenon::quantised_import_test
