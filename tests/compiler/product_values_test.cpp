// Numbers that products must not lose: NaN, infinities, and how errors grow with the depth of sums.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/arrays.h"
#include "support/compiled.h"
#include "support/small_graph.h"
#include "tenon/interpreter.h"

namespace tenon::product_values_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Few of them, so that most of the results are numbers.
std::vector<Array> special_inputs(const Graph& graph, const Bindings& bindings) {
  std::mt19937_64 rng(21);
  std::vector<Array> inputs;
  for (const Value& in : graph.inputs()) {
    Array x = random_array(f32, resolve(in.shape(), bindings).dims(), rng);
    for (float& each : x.mutable_values<float>()) {
      switch (rng() % 200) {
        case 0: each = std::numeric_limits<float>::quiet_NaN(); break;
        case 1: each = std::numeric_limits<float>::infinity(); break;
        case 2: each = -std::numeric_limits<float>::infinity(); break;
        case 3: each = -0.0F; break;
        case 4: each = 1e30F; break;
        default: break;
      }
    }
    inputs.push_back(std::move(x));
  }
  return inputs;
}

class ProductSpecials : public testing::TestWithParam<SmallGraph> {};

TEST_P(ProductSpecials, PassThrough) {
  const Graph graph = make(GetParam());
  EXPECT_TRUE(matches_every_way(graph, {.relative = 1e-3, .absolute = 1e-3, .inputs = special_inputs}));
}

INSTANTIATE_TEST_SUITE_P(
    All, ProductSpecials,
    testing::Values(
        SmallGraph{"matmul", "a: f32[33, 9], b: f32[9, 70]", "y = matmul(a, b)"},
        SmallGraph{"few_rows", "a: f32[3, 9], b: f32[9, 70]", "y = matmul(a, b)"},
        SmallGraph{"transposed", "a: f32[33, 9], b: f32[70, 9]", "y = matmul(a, transpose(b))"},
        SmallGraph{"weights", "a: f32[33, 9], w: f32[9, 70]", "y = matmul(a, w)"},
        SmallGraph{"of_zero_weights", "a: f32[33, 9], w: f32[9, 70]", "y = matmul(a, mul(w, 0))"},
        SmallGraph{"dense_relu", "a: f32[33, 9], b: f32[9, 70], c: f32[70]", "y = relu(add(matmul(a, b), c))"},
        SmallGraph{"dense_gelu", "a: f32[33, 9], b: f32[9, 70], c: f32[70]", "y = gelu(add(matmul(a, b), c))"},
        SmallGraph{"convolution", "x: f32[2, 3, 9, 11], f: f32[5, 3, 2, 2]", "y = conv(x, f, low=[1, 1], high=[1, 0])"},
        SmallGraph{"strided_convolution", "x: f32[2, 3, 9, 11], f: f32[5, 3, 2, 2]", "y = conv(x, f, stride=[2, 3])"},
        SmallGraph{"depthwise", "x: f32[2, 4, 9, 11], f: f32[4, 1, 3, 3]",
                   "y = conv(x, f, groups=4, low=[1, 1], high=[1, 1])"}),
    [](const auto& each) { return each.param.name; });

/// An infinity times zero is NaN wherever it stands: at the edge of a block, or in the last row.
TEST(ProductSpecials, AtEveryEdge) {
  constexpr int64_t kSize = 67;
  const Graph graph = make({"edge", "a: f32[67, 67], b: f32[67, 67]", "y = matmul(a, b)"});
  for (const bool native : {true, false}) {
    const Executable executable = compile(graph, {.native = native, .disk_cache = false});
    for (const int64_t at : {0, 11, 12, 15, 16, 31, 32, 63, 64, 66}) {
      Array a = Array::full(f32, {kSize, kSize}, 1);
      a.mutable_values<float>()[static_cast<size_t>(at * kSize + at)] = std::numeric_limits<float>::infinity();
      Array b = Array::full(f32, {kSize, kSize}, 2);
      b.mutable_values<float>()[static_cast<size_t>(at * kSize + at)] = 0;
      const Array y = executable.run({a, b})[0];
      for (int64_t row = 0; row < kSize; ++row) {
        for (int64_t column = 0; column < kSize; ++column) {
          const double value = y.at(row * kSize + column);
          if (row == at && column == at) {
            EXPECT_TRUE(std::isnan(value)) << at;
          } else {
            EXPECT_EQ(value, row == at ? kInfinity : column == at ? 2.0 * (kSize - 1) : 2.0 * kSize) << at;
          }
        }
      }
    }
  }
}

/// Sums in f32, each step one rounding: the error stays within depth * 2^-24 of the sum of magnitudes, and is far
/// smaller for random signs.
TEST(ProductErrors, GrowNoFasterThanTheDepth) {
  const Graph graph = make({"depth", "a: f32[8, k], b: f32[k, 40]", "y = matmul(a, b)"});
  const Graph magnitudes = make({"magnitudes", "a: f32[8, k], b: f32[k, 40]", "y = matmul(abs(a), abs(b))"});
  const Executable executable = compile(graph, {.disk_cache = false});
  for (const int64_t depth : {1, 10, 100, 1000, 10000, 40000}) {
    std::mt19937_64 rng(4);
    const std::vector<Array> inputs{random_array(f32, {8, depth}, rng), random_array(f32, {depth, 40}, rng)};
    const Array exact = interpret(graph, inputs, {.reference = true})[0];
    const Array sums = interpret(magnitudes, inputs, {.reference = true})[0];
    const Array actual = executable.run(inputs)[0];
    const double steps = static_cast<double>(depth) + 1;
    double squares = 0;
    for (int64_t i = 0; i < exact.size(); ++i) {
      const double error = std::fabs(actual.at(i) - exact.at(i)) / sums.at(i);
      EXPECT_LE(error, steps * 0x1p-24) << "depth " << depth;
      squares += error * error;
    }
    EXPECT_LE(std::sqrt(squares / static_cast<double>(exact.size())), 2 * std::sqrt(steps) * 0x1p-24)
        << "depth " << depth;
  }
}

/// Half types are rounded once, at the end.
TEST(ProductErrors, HalfTypesAccumulateInF32) {
  for (const auto& [dtype, step] : {std::pair(f16, 0x1p-11), std::pair(bf16, 0x1p-8)}) {
    const std::string d(name(dtype));
    const Graph graph = make({"half", "a: " + d + "[8, k], b: " + d + "[k, 40]", "y = matmul(a, b)"});
    const Graph magnitudes = make({"magnitudes", "a: f32[8, k], b: f32[k, 40]", "y = matmul(abs(a), abs(b))"});
    const Executable executable = compile(graph, {.disk_cache = false});
    for (const int64_t depth : {1, 37, 1000, 5000}) {
      std::mt19937_64 rng(4);
      const std::vector<Array> inputs{random_array(dtype, {8, depth}, rng), random_array(dtype, {depth, 40}, rng)};
      const Array exact = interpret(graph, inputs, {.reference = true})[0];
      const Array sums = interpret(magnitudes, {inputs[0].cast(f32), inputs[1].cast(f32)}, {.reference = true})[0];
      const Array actual = executable.run(inputs)[0];
      for (int64_t i = 0; i < exact.size(); ++i) {
        const double allowed = step * std::fabs(exact.at(i)) + static_cast<double>(depth) * 0x1p-23 * sums.at(i);
        EXPECT_LE(std::fabs(actual.at(i) - exact.at(i)), allowed * 1.001) << d << " at depth " << depth;
      }
    }
  }
}

/// A convolution is a product of as many steps as a window has elements.
TEST(ProductErrors, OfConvolutions) {
  const Graph graph = make({"conv", "x: f32[1, 64, 12, 12], f: f32[16, 64, 3, 3]", "y = conv(x, f)"});
  const Graph magnitudes = make({"conv", "x: f32[1, 64, 12, 12], f: f32[16, 64, 3, 3]", "y = conv(abs(x), abs(f))"});
  std::mt19937_64 rng(4);
  const std::vector<Array> inputs{random_array(f32, {1, 64, 12, 12}, rng), random_array(f32, {16, 64, 3, 3}, rng)};
  const Array exact = interpret(graph, inputs, {.reference = true})[0];
  const Array sums = interpret(magnitudes, inputs, {.reference = true})[0];
  const Array actual = compile(graph, {.disk_cache = false}).run(inputs)[0];
  for (int64_t i = 0; i < exact.size(); ++i) {
    EXPECT_LE(std::fabs(actual.at(i) - exact.at(i)), 64 * 9 * 0x1p-24 * sums.at(i));
  }
}

}  // namespace
}  // namespace tenon::product_values_test
