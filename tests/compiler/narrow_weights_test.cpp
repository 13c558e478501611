// CompileOptions::weights: matrices in fewer bits, widened inside of products.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/lowered.h"
#include "kernel/loop/loop_walk.h"
#include "support/arrays.h"
#include "support/error_text.h"
#include "support/random_graph.h"
#include "support/small_graph.h"
#include "tenon/tenon.h"

namespace tenon::narrow_weights_test {
namespace {

const SmallGraph kGraphs[] = {
    {"dense", "x: f32[m, 96], w: f32[96, 300], b: f32[300]", "y = gelu(add(matmul(x, w), b))"},
    {"transposed", "x: f32[m, 96], w: f32[300, 96]", "y = matmul(x, transpose(w, [1, 0]))"},
    {"left", "x: f32[96, m], w: f32[300, 96]", "y = matmul(w, x)"},
    {"odd", "x: f32[m, 131], w: f32[131, 37]", "y = relu(matmul(x, w))"},
    {"batched", "x: f32[4, m, 48], w: f32[4, 48, 32]", "y = matmul(x, w)"},
    {"two", "x: f32[m, 96], w0: f32[96, 128], w1: f32[128, 96]", "y = matmul(relu(matmul(x, w0)), w1)"},
    {"also_read", "x: f32[m, 80], w: f32[64, 80]", "y0 = matmul(x, transpose(w, [1, 0])); y1 = exp(w)"},
    {"norm_before", "x: f32[m, 96], w: f32[96, 128]", "y = matmul(softmax(x, -1), w)"},
};

CompileOptions with(WeightFormat weights, bool native = true) {
  CompileOptions options{.native = native, .least_shared_work = 0};
  options.weights = weights;
  return options;
}

std::vector<Array> inputs_at(const Graph& graph, const Bindings& at, uint64_t seed) {
  return random_graph_inputs({.graph = graph, .tolerances = {}, .special = false}, at, seed);
}

/// The largest difference by the largest number.
double difference(const Array& a, const Array& b) {
  double most = 0;
  double largest = std::numeric_limits<double>::min();
  for (int64_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::fabs(a.at(i) - b.at(i)));
    largest = std::max(largest, std::fabs(b.at(i)));
  }
  return most / largest;
}

class NarrowWeights : public testing::TestWithParam<SmallGraph> {};

TEST_P(NarrowWeights, AreThoseOfTheGraphThatIsCompiled) {
  const Graph graph = make(GetParam());
  for (const Dtype dtype : {Dtype::bf16, Dtype::f16, Dtype::i8}) {
    CompileReport report;
    const Graph narrow = compiler::lower(graph, with(dtype), report).optimized;
    const Executable native = compile(graph, with(dtype));
    const Executable loops = compile(graph, with(dtype, /*native=*/false));
    for (const int64_t m : {0, 1, 2, 15, 33, 130}) {
      const Bindings at{{"m", m}};
      const std::vector<Array> inputs = inputs_at(graph, at, static_cast<uint64_t>(m));
      const std::vector<Array> expected = interpret(narrow, inputs, {.bindings = at});
      const std::vector<Array> exact = interpret(graph, inputs, {.bindings = at});
      for (size_t i = 0; i < expected.size(); ++i) {
        const std::string where = fmt::format("{} at m={}, output {}", name(dtype), m, i);
        EXPECT_LE(difference(native.run(inputs, {.bindings = at})[i], expected[i]), 2e-6) << where;
        EXPECT_LE(difference(loops.run(inputs, {.bindings = at})[i], expected[i]), 2e-6) << where;
        EXPECT_LE(difference(expected[i], exact[i]), dtype == Dtype::f16 ? 2e-3 : 2e-2) << where;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Graphs, NarrowWeights, testing::ValuesIn(kGraphs),
                         [](const auto& each) { return each.param.name; });

/// The dtypes of the right operands of all products of a program.
std::vector<Dtype> right_operands(const Graph& graph, const CompileOptions& options) {
  CompileReport report;
  const compiler::Lowered lowered = compiler::lower(graph, options, report);
  std::vector<Dtype> found;
  for (const loops::Kernel* kernel : lowered.kernels()) {
    loops::for_each_product(*kernel, [&](const loops::Product& product) {
      found.push_back(types_of(*kernel, product).right);
      EXPECT_GT(product.panel, 0) << "weights lie in panels";
    });
  }
  return found;
}

TEST(NarrowWeightsForm, IsWhatProductsRead) {
  const Graph graph = make(kGraphs[5]);
  for (const Dtype dtype : {Dtype::bf16, Dtype::f16, Dtype::i8}) {
    EXPECT_EQ(right_operands(graph, with(dtype)), (std::vector{dtype, dtype}));
  }
}

TEST(NarrowWeightsForm, IsBytesOfWeightsThatWereNarrowAlready) {
  std::mt19937_64 random(2);
  const Value x = input("x", shape(f32, "m", 96));
  for (const Dtype dtype : {bf16, f16}) {
    const Graph graph({x}, {{"y", matmul(x, cast(constant(random_array(dtype, {96, 64}, random)), f32))}});
    EXPECT_EQ(right_operands(graph, with(i8)), std::vector{i8});
    const std::vector<Array> inputs = {random_array(f32, {3, 96}, random)};
    EXPECT_LE(difference(compile(graph, with(i8)).run(inputs)[0], interpret(graph, inputs)[0]), 2e-2);
  }
}

TEST(NarrowWeightsForm, IsThatOfModelsThatCastTheirOwn) {
  std::mt19937_64 random(1);
  const Value x = input("x", shape(f32, "m", 96));
  const Value w = input("w", Shape(bf16, {Axis(96), Axis(64)}));
  const Graph graph({x, w}, {{"y", matmul(x, cast(w, f32))}});
  const Executable compiled = compile(graph);
  for (const int64_t m : {1, 40}) {
    const std::vector<Array> inputs = {random_array(f32, {m, 96}, random), random_array(bf16, {96, 64}, random)};
    EXPECT_LE(difference(compiled.run(inputs)[0], interpret(graph, inputs)[0]), 2e-6);
  }
}

TEST(NarrowWeightsForm, LeavesAloneWhatWouldOverflow) {
  Array weights = Array::full(Dtype::f32, {96, 64}, 1);
  weights.mutable_values<float>()[7] = 1e5F;
  const Value x = input("x", shape(f32, "m", 96));
  const Graph large({x}, {{"y", matmul(x, constant(weights))}});
  EXPECT_EQ(right_operands(large, with(Dtype::f16)), std::vector{Dtype::f32});
  EXPECT_EQ(right_operands(large, with(Dtype::bf16)), std::vector{Dtype::bf16});
  weights.mutable_values<float>()[7] = std::numeric_limits<float>::infinity();
  const Graph infinite({x}, {{"y", matmul(x, constant(weights))}});
  EXPECT_EQ(right_operands(infinite, with(Dtype::bf16)), std::vector{Dtype::f32});
  EXPECT_EQ(right_operands(infinite, with(Dtype::i8)), std::vector{Dtype::f32});
}

TEST(NarrowWeightsForm, CarriesNanAndInfinity) {
  const Graph graph = make(kGraphs[1]);
  for (const Dtype dtype : {Dtype::bf16, Dtype::i8}) {
    CompileReport report;
    const Graph narrow = compiler::lower(graph, with(dtype), report).optimized;
    const Bindings at{{"m", 3}};
    std::vector<Array> inputs = inputs_at(graph, at, 5);
    inputs[0].mutable_values<float>()[0] = std::numeric_limits<float>::quiet_NaN();
    inputs[0].mutable_values<float>()[100] = std::numeric_limits<float>::infinity();
    const Array got = compile(graph, with(dtype)).run(inputs, {.bindings = at})[0];
    const Array expected = interpret(narrow, inputs, {.bindings = at})[0];
    for (int64_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(std::isnan(got.at(i)), std::isnan(expected.at(i))) << i;
      EXPECT_EQ(std::isinf(got.at(i)), std::isinf(expected.at(i))) << i;
    }
  }
}

TEST(NarrowWeightsForm, FourBitsAreOffByHalfOfAnEighthOfTheirBlock) {
  for (const SmallGraph& small : kGraphs) {
    const Graph graph = make(small);
    CompileReport report;
    const Graph narrow = compiler::lower(graph, with(kFourBits), report).optimized;
    const Executable native = compile(graph, with(kFourBits));
    for (const int64_t m : {0, 1, 2, 33}) {
      const Bindings at{{"m", m}};
      const std::vector<Array> inputs = inputs_at(graph, at, static_cast<uint64_t>(m));
      const std::vector<Array> expected = interpret(narrow, inputs, {.bindings = at});
      const std::vector<Array> exact = interpret(graph, inputs, {.bindings = at});
      for (size_t i = 0; i < expected.size(); ++i) {
        const std::string where = fmt::format("{} at m={}, output {}", small.name, m, i);
        EXPECT_LE(difference(native.run(inputs, {.bindings = at})[i], expected[i]), 1e-5) << where;
        EXPECT_LE(difference(expected[i], exact[i]), 0.25) << where;
      }
    }
  }
}

/// Of each block the number of largest magnitude stays what it is, and the others are multiples of an eighth of it.
TEST(NarrowWeightsForm, FourBitsAreRoundedBlockByBlock) {
  std::mt19937_64 random(3);
  const int64_t depth = 70;
  const Array w = random_array(f32, {depth, 64}, random);
  Array one = Array::full(f32, {depth, depth}, 0);
  for (int64_t i = 0; i < depth; ++i)
    one.mutable_values<float>()[static_cast<size_t>(i * depth + i)] = 1;
  const Value x = input("x", shape(f32, "m", depth));
  const Array found = compile(Graph({x}, {{"y", matmul(x, constant(w))}}), with(kFourBits)).run({one})[0];
  for (int64_t column = 0; column < 64; ++column) {
    for (int64_t begin = 0; begin < depth; begin += 32) {
      double most = 0;
      for (int64_t i = begin; i < std::min(depth, begin + 32); ++i) {
        const double each = w.at(i * 64 + column);
        if (std::fabs(each) > std::fabs(most)) most = each;
      }
      for (int64_t i = begin; i < std::min(depth, begin + 32); ++i) {
        const double level = std::clamp(std::nearbyint(w.at(i * 64 + column) / (most / -8)), -8.0, 7.0);
        EXPECT_NEAR(found.at(i * 64 + column), level * (most / -8), 1e-6 * std::fabs(most)) << i << ", " << column;
      }
    }
  }
}

TEST(NarrowWeightsForm, IsOneOfFour) {
  EXPECT_EQ(error_text([] { compile(make(kGraphs[0]), with(Dtype::i32)); }),
            "weights are kept as bf16, f16, i8 or i4, not as i32");
}

}  // namespace
}  // namespace tenon::narrow_weights_test
