// DeformConv against its definition, element by element.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "onnx/model_builder.h"
#include "support/arrays.h"
#include "support/compiled.h"
#include "tenon/interpreter.h"

namespace tenon::deform_conv_test {
namespace {

struct DeformCase {
  int64_t channels = 4, outputs = 4, rows = 3, columns = 2, groups = 1, fields = 1;
  std::vector<int64_t> strides = {1, 1}, dilations = {1, 1}, pads = {0, 0, 0, 0};
  bool mask = false, bias = false;
};

constexpr int64_t kBatch = 2;
constexpr int64_t kHeight = 6;
constexpr int64_t kWidth = 7;

/// Between the four neighbours; nothing counts beyond the picture.
double sample(const Array& x, int64_t plane, double row, double column) {
  const auto at = [&](double r, double c) {
    const bool inside = r >= 0 && r < kHeight && c >= 0 && c < kWidth;
    return inside ? x.at((plane * kHeight + static_cast<int64_t>(r)) * kWidth + static_cast<int64_t>(c)) : 0.0;
  };
  const double r = std::floor(row);
  const double c = std::floor(column);
  const double down = row - r;
  const double right = column - c;
  return (1 - down) * ((1 - right) * at(r, c) + right * at(r, c + 1)) +
         down * ((1 - right) * at(r + 1, c) + right * at(r + 1, c + 1));
}

void expect_right(const DeformCase& that) {
  std::mt19937_64 rng(11);
  const int64_t places = that.rows * that.columns;
  const int64_t height =
      (kHeight + that.pads[0] + that.pads[2] - that.dilations[0] * (that.rows - 1) - 1) / that.strides[0] + 1;
  const int64_t width =
      (kWidth + that.pads[1] + that.pads[3] - that.dilations[1] * (that.columns - 1) - 1) / that.strides[1] + 1;
  const int64_t per_group = that.channels / that.groups;
  std::vector<Array> arrays = {random_array(f32, {kBatch, that.channels, kHeight, kWidth}, rng),
                               random_array(f32, {that.outputs, per_group, that.rows, that.columns}, rng, -1, 1),
                               random_array(f32, {kBatch, that.fields * places * 2, height, width}, rng, -3, 3)};
  const Array bias = random_array(f32, {that.outputs}, rng);
  const Array mask = random_array(f32, {kBatch, that.fields * places, height, width}, rng, 0, 1);
  OnnxModelBuilder model(19);
  model.input("x", "f32[batch, " + std::to_string(that.channels) + ", height, width]");
  model.input("w", Shape(f32, {arrays[1].dims().begin(), arrays[1].dims().end()}).to_string());
  model.input("offset", "f32[batch, " + std::to_string(that.fields * places * 2) + ", down, right]");
  std::vector<std::string> names = {"x", "w", "offset", that.bias ? "b" : "", that.mask ? "mask" : ""};
  if (that.bias) {
    model.input("b", "f32[" + std::to_string(that.outputs) + "]");
    arrays.push_back(bias);
  }
  if (that.mask) {
    model.input("mask", "f32[batch, " + std::to_string(that.fields * places) + ", down, right]");
    arrays.push_back(mask);
  }
  model.node("DeformConv", names, {"y"},
             {attribute("strides", that.strides), attribute("dilations", that.dilations), attribute("pads", that.pads),
              attribute("group", that.groups), attribute("offset_group", that.fields)});
  model.output("y");
  const Graph graph = imported(model);
  Array wanted(f32, {kBatch, that.outputs, height, width});
  int64_t number = 0;
  for (int64_t n = 0; n < kBatch; ++n) {
    for (int64_t o = 0; o < that.outputs; ++o) {
      for (int64_t i = 0; i < height; ++i) {
        for (int64_t j = 0; j < width; ++j, ++number) {
          double sum = that.bias ? bias.at(o) : 0;
          for (int64_t c = 0; c < per_group; ++c) {
            const int64_t channel = o / (that.outputs / that.groups) * per_group + c;
            const int64_t field = channel / (that.channels / that.fields);
            for (int64_t k = 0; k < places; ++k) {
              const auto moved = [&](int64_t part) {
                return arrays[2].at((((n * that.fields + field) * places + k) * 2 + part) * height * width + i * width +
                                    j);
              };
              const double row =
                  static_cast<double>(i * that.strides[0] - that.pads[0] + k / that.columns * that.dilations[0]) +
                  moved(0);
              const double column =
                  static_cast<double>(j * that.strides[1] - that.pads[1] + k % that.columns * that.dilations[1]) +
                  moved(1);
              const double scale =
                  that.mask ? mask.at(((n * that.fields + field) * places + k) * height * width + i * width + j) : 1;
              sum += scale * sample(arrays[0], n * that.channels + channel, row, column) *
                     arrays[1].at((o * per_group + c) * places + k);
            }
          }
          wanted.mutable_values<float>()[static_cast<size_t>(number)] = static_cast<float>(sum);
        }
      }
    }
  }
  EXPECT_TRUE(close(interpret(graph, arrays)[0], wanted, 1e-4, 1e-4));
  EXPECT_TRUE(close(compile(graph).run(arrays)[0], wanted, 1e-4, 1e-4));
}

TEST(DeformConv, IsItsDefinition) {
  expect_right({});
  expect_right({.pads = {1, 0, 2, 1}, .mask = true, .bias = true});
  expect_right({.strides = {2, 1}, .dilations = {1, 2}, .pads = {1, 1, 1, 1}, .bias = true});
  expect_right({.outputs = 6, .groups = 2, .pads = {1, 1, 1, 1}});
  expect_right({.fields = 2, .pads = {1, 1, 1, 1}, .mask = true});
  expect_right({.outputs = 8, .groups = 4, .fields = 2});
}

}  // namespace
}  // namespace tenon::deform_conv_test
