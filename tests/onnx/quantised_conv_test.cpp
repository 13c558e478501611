// Convolutions of eight-bit integers: exact, whatever the signs, zero points, padding, strides and groups.
#include <fmt/format.h>
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

namespace tenon::quantised_conv_test {
namespace {

struct ConvCase {
  Dtype x = Dtype::u8;
  Dtype w = Dtype::i8;
  int64_t channels = 3, outputs = 4, groups = 1;
  std::vector<int64_t> kernel = {3, 3}, strides = {1, 1}, dilations = {1, 1}, pads = {0, 0, 0, 0};
  int64_t x_zero = 0;
  bool zero_is_input = false;         // the zero point of x is known when the model runs
  std::vector<int64_t> w_zeros = {};  // none, one, or one for each output
  std::string auto_pad = {};
};

std::string to_string(const ConvCase& c) {
  return fmt::format("{} {} {}->{} groups {} kernel {}x{} strides {},{} pads {} zero {}{} w zeros {} {}", name(c.x),
                     name(c.w), c.channels, c.outputs, c.groups, c.kernel[0], c.kernel[1], c.strides[0], c.strides[1],
                     c.pads[0], c.x_zero, c.zero_is_input ? " (input)" : "", c.w_zeros.size(), c.auto_pad);
}

Array bytes(Dtype dtype, const std::vector<int64_t>& dims, uint64_t seed) {
  std::mt19937_64 rng(seed);
  Array result = Array::uninitialized(dtype, dims);
  for (int64_t i = 0; i < result.size(); ++i) {
    result.mutable_data()[i] = static_cast<std::byte>(rng());
  }
  return result;
}

Array byte_numbers(Dtype dtype, const std::vector<int64_t>& dims, const std::vector<int64_t>& numbers) {
  Array result = Array::uninitialized(dtype, dims);
  for (size_t i = 0; i < numbers.size(); ++i) {
    result.mutable_data()[i] = static_cast<std::byte>(numbers[i]);
  }
  return result;
}

std::vector<proto::AttributeProto> attributes(const ConvCase& c) {
  std::vector<proto::AttributeProto> list = {attribute("strides", c.strides), attribute("dilations", c.dilations),
                                             attribute("group", c.groups)};
  list.push_back(c.auto_pad.empty() ? attribute("pads", c.pads) : attribute("auto_pad", c.auto_pad));
  return list;
}

std::vector<int64_t> zero_dims(const ConvCase& c) {
  return c.w_zeros.size() == 1 ? std::vector<int64_t>{} : std::vector<int64_t>{c.outputs};
}

Array weights_of(const ConvCase& c) {
  return bytes(c.w, {c.outputs, c.channels / c.groups, c.kernel[0], c.kernel[1]}, 7);
}

/// sum((x - x_zero) * (w - w_zero)) over what is under the window, and inside of x.
Array obvious_conv(const ConvCase& c, const Array& x, const Array& w, const std::vector<int64_t>& out,
                   const std::vector<int64_t>& low) {
  std::vector<int32_t> sums;
  const int64_t each = c.channels / c.groups;
  const auto inside = [&](int64_t at, int axis) { return at >= 0 && at < x.dims()[static_cast<size_t>(axis)]; };
  for (int64_t n = 0; n < out[0]; ++n) {
    for (int64_t o = 0; o < out[1]; ++o) {
      const int64_t zero = c.w_zeros.empty() ? 0 : c.w_zeros[c.w_zeros.size() == 1 ? 0 : static_cast<size_t>(o)];
      for (int64_t i = 0; i < out[2]; ++i) {
        for (int64_t j = 0; j < out[3]; ++j) {
          double sum = 0;
          for (int64_t k = 0; k < each * c.kernel[0] * c.kernel[1]; ++k) {
            const int64_t channel = k / (c.kernel[0] * c.kernel[1]);
            const int64_t y = i * c.strides[0] + k / c.kernel[1] % c.kernel[0] * c.dilations[0] - low[0];
            const int64_t z = j * c.strides[1] + k % c.kernel[1] * c.dilations[1] - low[1];
            if (inside(y, 2) && inside(z, 3)) {
              const int64_t from = o / (c.outputs / c.groups) * each + channel;
              const int64_t at = ((n * c.channels + from) * x.dims()[2] + y) * x.dims()[3] + z;
              sum += (x.at(at) - static_cast<double>(c.x_zero)) *
                     (w.at(o * each * c.kernel[0] * c.kernel[1] + k) - static_cast<double>(zero));
            }
          }
          sums.push_back(static_cast<int32_t>(sum));
        }
      }
    }
  }
  return Array::from<int32_t>(out, sums);
}

void expect_exact(const ConvCase& c, const std::vector<std::pair<int64_t, int64_t>>& sizes) {
  OnnxModelBuilder model;
  const Array w = weights_of(c);
  const Array x_zero = byte_numbers(c.x, {}, {c.x_zero});
  model.input("x", fmt::format("{}[n, {}, h, w]", name(c.x), c.channels));
  model.constant("w", w);
  if (c.zero_is_input) {
    model.input("x_zero", fmt::format("{}[]", name(c.x)));
  } else {
    model.constant("x_zero", x_zero);
  }
  std::vector<std::string> operands = {"x", "w", "x_zero"};
  if (!c.w_zeros.empty()) {
    model.constant("w_zero", byte_numbers(c.w, zero_dims(c), c.w_zeros));
    operands.emplace_back("w_zero");
  }
  model.node("ConvInteger", operands, {"y"}, attributes(c));
  model.output("y");
  const Graph graph = imported(model);
  const Executable compiled = compile(graph);
  for (const auto& [height, width] : sizes) {
    const Array x = bytes(c.x, {2, c.channels, height, width}, 11);
    std::vector<Array> inputs = {x};
    if (c.zero_is_input) {
      inputs.push_back(x_zero);
    }
    const Array expected = interpret(graph, inputs)[0];
    EXPECT_TRUE(same(compiled.run(inputs)[0], expected)) << to_string(c) << ", " << height << " x " << width;
    if (c.auto_pad.empty()) {
      EXPECT_TRUE(same(expected, obvious_conv(c, x, w, expected.dims(), {c.pads[0], c.pads[1]}))) << to_string(c);
    }
  }
}

TEST(OnnxQuantisedConv, IsExact) {
  const std::vector<std::pair<int64_t, int64_t>> sizes = {{7, 6}, {5, 17}};
  for (const Dtype x : {Dtype::u8, Dtype::i8}) {
    for (const Dtype w : {Dtype::i8, Dtype::u8}) {
      expect_exact({.x = x, .w = w, .pads = {1, 2, 1, 0}, .x_zero = 100}, sizes);
      expect_exact({.x = x, .w = w, .channels = 16, .outputs = 33, .pads = {1, 1, 1, 1}, .x_zero = 3}, sizes);
      expect_exact({.x = x, .w = w, .channels = 64, .outputs = 20, .kernel = {1, 1}, .strides = {2, 2}}, sizes);
    }
  }
  const std::vector<int64_t> zeros = {5, -6, 0, 127};
  expect_exact({.strides = {2, 1}, .dilations = {1, 2}, .pads = {2, 1, 0, 3}, .x_zero = 9, .w_zeros = {-4}}, sizes);
  expect_exact({.pads = {1, 1, 1, 1}, .x_zero = 9, .w_zeros = zeros}, sizes);
  expect_exact({.w_zeros = zeros}, sizes);
  expect_exact({.pads = {1, 1, 1, 1}, .x_zero = 77, .zero_is_input = true}, sizes);
  expect_exact({.strides = {2, 2}, .x_zero = 77, .zero_is_input = true, .auto_pad = "SAME_UPPER"}, sizes);
  expect_exact({.x_zero = 7, .auto_pad = "SAME_LOWER"}, sizes);
}

TEST(OnnxQuantisedConv, GroupsAreExact) {
  const std::vector<std::pair<int64_t, int64_t>> sizes = {{7, 6}, {4, 19}};
  for (const Dtype x : {Dtype::u8, Dtype::i8}) {
    expect_exact({.x = x, .channels = 32, .outputs = 32, .groups = 32, .pads = {1, 1, 1, 1}, .x_zero = 40}, sizes);
    expect_exact({.x = x, .channels = 16, .outputs = 32, .groups = 4, .pads = {1, 0, 1, 0}, .x_zero = 4}, sizes);
  }
  expect_exact({.channels = 4, .outputs = 4, .groups = 2, .pads = {1, 1, 1, 1}, .x_zero = 4, .w_zeros = {1, 2, 3, 4}},
               sizes);
}

/// Long sums in several blocks, with and without whole groups of four channels.
TEST(OnnxQuantisedConv, DeepOnesAreExact) {
  for (const int64_t channels : {255, 256, 259}) {
    expect_exact({.channels = channels, .outputs = 40, .pads = {1, 1, 1, 1}, .x_zero = 128}, {{6, 5}, {1, 1}});
    expect_exact({.x = Dtype::i8, .channels = channels, .outputs = 40, .pads = {1, 1, 1, 1}}, {{6, 5}});
  }
}

/// Layers as quantisers leave them: dequantised operands, a float bias, an activation, quantised again; and a sum with
/// what came in.
Graph layers(int64_t channels, Dtype dtype, int64_t zero) {
  OnnxModelBuilder model;
  const Array around = byte_numbers(dtype, {}, {zero});
  model.input("x", fmt::format("f32[n, {}, h, w]", channels));
  model.constant("scale", Array::scalar(f32, 0.031));
  model.constant("zero", around);
  model.node("QuantizeLinear", {"x", "scale", "zero"}, {"q0"});
  model.node("DequantizeLinear", {"q0", "scale", "zero"}, {"d0"});
  std::vector<float> scales;
  std::vector<float> bias;
  for (int64_t i = 0; i < channels; ++i) {
    scales.push_back(0.001F * static_cast<float>(i % 5 + 1));
    bias.push_back(0.1F * static_cast<float>(i % 7 - 3));
  }
  model.constant("w_scale", Array::from<float>({channels}, scales));
  model.constant("bias", Array::from<float>({channels}, bias));
  for (int i = 0; i < 3; ++i) {
    const auto named = [&](const char* what) { return fmt::format("{}{}", what, i); };
    const std::string next = fmt::format("{}", i + 1);
    model.constant(named("w"), bytes(Dtype::i8, {channels, channels, 3, 3}, static_cast<uint64_t>(i)));
    model.node("DequantizeLinear", {named("w"), "w_scale"}, {named("dw")}, {attribute("axis", int64_t{0})});
    model.node("Conv", {named("d"), named("dw"), "bias"}, {named("c")},
               {attribute("pads", std::vector<int64_t>{1, 1, 1, 1})});
    model.node("Relu", {named("c")}, {named("r")});
    std::string result = named("r");
    if (i == 1) {
      model.node("Add", {"r1", "d0"}, {"sum"});
      result = "sum";
    }
    model.node("QuantizeLinear", {result, "scale", "zero"}, {"q" + next});
    model.node("DequantizeLinear", {"q" + next, "scale", "zero"}, {"d" + next});
  }
  model.output("d3");
  return imported(model);
}

TEST(OnnxQuantisedConv, LayersAreOneKernelEach) {
  for (const Dtype dtype : {Dtype::u8, Dtype::i8}) {
    const Graph graph = layers(32, dtype, dtype == Dtype::u8 ? 113 : -9);
    for (const Node* node : graph.nodes()) {
      const auto* conv = node->as<Conv>();
      EXPECT_TRUE(conv == nullptr || conv->dtype == Dtype::i32);
    }
    const Executable compiled = compile(graph);
    EXPECT_EQ(compiled.kernel_count(), 4);  // one quantises what comes in
    for (const auto& dims : {std::vector<int64_t>{1, 32, 9, 7}, {2, 32, 1, 1}, {3, 32, 4, 16}}) {
      std::mt19937 rng(5);
      std::uniform_real_distribution<float> each(-4, 4);
      Array x = Array::uninitialized(f32, dims);
      for (float& value : x.mutable_values<float>()) {
        value = each(rng);
      }
      EXPECT_TRUE(same(compiled.run({x})[0], interpret(graph, {x})[0]));
    }
  }
}

}  // namespace
}  // namespace tenon::quantised_conv_test
