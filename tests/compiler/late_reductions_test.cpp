// Reductions of what products leave, taken tile by tile and combined in a second phase, against the interpreter.
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "support/arrays.h"
#include "support/compiled.h"
#include "support/small_graph.h"
#include "tenon/autodiff.h"
#include "tenon/convolution.h"
#include "tenon/nn.h"
#include "tenon/ops.h"

namespace tenon::late_reductions_test {
namespace {

/// With inputs of another dtype.
Graph graph_of(SmallGraph text, std::string_view dtype) {
  for (size_t at = 0; (at = text.inputs.find("f32", at)) != std::string::npos; at += dtype.size()) {
    text.inputs.replace(at, 3, dtype);
  }
  return make(text);
}

constexpr const char* kMatrices = "a: f32[m, k], c: f32[k, n]";

/// Nothing, one row or column, tiles and one more or less of them, and several tiles of both.
std::vector<Bindings> around_tiles() {
  std::vector<Bindings> at;
  for (const int64_t m : {0, 1, 7, 191, 192, 193, 400}) {
    at.push_back({{"m", m}, {"n", 33}, {"k", 5}});
  }
  for (const int64_t n : {0, 1, 31, 255, 256, 257, 600}) {
    at.push_back({{"m", 21}, {"n", n}, {"k", 3}});
  }
  at.push_back({{"m", 385}, {"n", 515}, {"k", 161}});
  at.push_back({{"m", 40}, {"n", 17}, {"k", 0}});
  return at;
}

class ReductionsOfProducts : public testing::TestWithParam<SmallGraph> {};

TEST_P(ReductionsOfProducts, MatchEveryWay) {
  EXPECT_TRUE(
      matches_every_way(graph_of(GetParam(), "f32"), {.relative = 1e-4, .of_largest = 1e-5, .at = around_tiles()}));
}

TEST_P(ReductionsOfProducts, MatchEveryWayToTheLastDigits) {
  EXPECT_TRUE(matches_every_way(graph_of(GetParam(), "f64"),
                                {.relative = 1e-11, .absolute = 1e-11, .of_largest = 1e-12, .at = around_tiles()}));
}

TEST_P(ReductionsOfProducts, MatchInHalfPrecision) {
  const std::vector<Bindings> at{{{"m", 193}, {"n", 257}, {"k", 5}}, {{"m", 1}, {"n", 0}, {"k", 5}}};
  EXPECT_TRUE(compiled_matches(graph_of(GetParam(), "f16"), {.relative = 2e-2, .of_largest = 1e-2, .at = at}));
  EXPECT_TRUE(compiled_matches(graph_of(GetParam(), "bf16"), {.relative = 2e-1, .of_largest = 1e-1, .at = at}));
}

TEST_P(ReductionsOfProducts, PassOnNanAndInfinity) {
  const float specials[] = {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::max()};
  for (const float special : specials) {
    const auto inputs = [&](const Graph& graph, const Bindings& bindings) {
      std::mt19937_64 rng(11);
      std::vector<Array> arrays;
      for (const Value& in : graph.inputs()) {
        Array x = random_array(in.dtype(), resolve(in.shape(), bindings).dims(), rng, 0.25, 2);
        if (arrays.empty()) {  // a row of the second tile, and one in the first
          x.mutable_values<float>()[3 * 5 + 2] = special;
          x.mutable_values<float>()[250 * 5] = special;
        }
        arrays.push_back(std::move(x));
      }
      return arrays;
    };
    EXPECT_TRUE(matches_every_way(
        make(GetParam()),
        {.relative = 1e-4, .of_largest = 1e-5, .at = {{{"m", 300}, {"n", 35}, {"k", 5}}}, .inputs = inputs}))
        << special;
  }
}

TEST_P(ReductionsOfProducts, AreTheSameBitsForAnyNumberOfThreads) {
  const Graph graph = make(GetParam());
  const Executable executable = compile(graph, {.disk_cache = false, .least_shared_work = 0});
  std::mt19937_64 rng(3);
  std::vector<Array> inputs;
  for (const Value& in : graph.inputs()) {
    inputs.push_back(
        random_array(in.dtype(), resolve(in.shape(), {{"m", 1000}, {"n", 520}, {"k", 9}}).dims(), rng, -2, 2));
  }
  EXPECT_TRUE(same_for_any_threads(executable, inputs));
}

INSTANTIATE_TEST_SUITE_P(
    All, ReductionsOfProducts,
    testing::Values(
        SmallGraph{"column_sums", kMatrices, "y = relu(matmul(a, c)); y1 = reduce_sum(y, axes=[0])"},
        SmallGraph{"row_sums", kMatrices, "y = relu(matmul(a, c)); y1 = reduce_sum(y, axes=[1])"},
        SmallGraph{"column_sums_alone", kMatrices, "y = reduce_sum(tanh(matmul(a, c)), axes=[0])"},
        SmallGraph{"sum_of_all", kMatrices, "y = reduce_sum(matmul(a, c))"},
        SmallGraph{"extremes", kMatrices,
                   "p = matmul(a, c); y = reduce_max(p, axes=[0]); y1 = reduce_min(p, axes=[0]); y2 = neg(p)"},
        SmallGraph{"positions", kMatrices, "p = matmul(a, c); y = argmax(p, axis=0); y1 = add(p, 1)"},
        SmallGraph{"variance", kMatrices, "y = relu(matmul(a, c)); y1 = variance(y, axes=[0], correction=0)"},
        SmallGraph{"normalised", kMatrices,
                   "p = matmul(a, c); u = sub(p, reduce_mean(p, axes=[0], keep=true)); "
                   "v = reduce_mean(mul(u, u), axes=[0], keep=true); y = relu(div(u, sqrt(add(v, 0.001))))"},
        SmallGraph{"logsumexp_of_columns", kMatrices, "p = matmul(a, c); y = logsumexp(p, axes=[0]); y1 = relu(p)"},
        SmallGraph{"softmax_of_columns", kMatrices, "y = softmax(matmul(a, c), axis=0)"},
        SmallGraph{"beside_another_sum", kMatrices,
                   "p = matmul(a, c); y = reduce_sum(p, axes=[0]); y1 = mul(p, reduce_sum(p, axes=[1], keep=true))"},
        SmallGraph{"of_two_products", "a: f32[m, k], c: f32[k, n], d: f32[k, n]",
                   "p = matmul(a, c); q = matmul(a, d); y = reduce_sum(mul(p, sigmoid(q)), axes=[0]); y1 = p"},
        SmallGraph{"with_more_of_the_columns", "a: f32[m, k], c: f32[k, n], s: f32[n], t: f32[m, n]",
                   "p = matmul(a, c); y = add(mul(s, 0.9), reduce_sum(mul(p, t), axes=[0])); y1 = mul(s, 2); y2 = p"}),
    [](const auto& each) { return each.param.name; });

// ---------------------------------------------------------------------------------------------------------------------
// Batch norm behind convolutions

Graph normalised(const Shape& image, const Shape& weights, bool are_constants, const ConvOptions& options = {}) {
  const Value x = input("x", image);
  const Value w = input("w", weights);
  const Value y = conv(x, w, options);
  const Shape channels(image.dtype(), {y.shape().axes()[1]});
  std::vector<Value> inputs{x, w};
  for (const char* name : {"scale", "bias", "mean", "variance"}) {
    inputs.push_back(input(name, channels));
  }
  const BatchNorm norm = batch_norm_training(y, inputs[2], inputs[3], inputs[4], inputs[5]);
  const Value z = relu(norm.y);
  // Images that only kernels read have their channels side by side, where weights are constants.
  const Value last = are_constants ? reduce_sum(z, {2, 3}) : z;
  const Graph graph(inputs, {{"y", last}, {"mean", norm.running_mean}, {"variance", norm.running_variance}});
  return are_constants ? with_constants(graph, "w") : graph;
}

std::vector<Bindings> image_sizes() {
  std::vector<Bindings> at;
  for (const auto& [batch, height, width] :
       {std::array<int64_t, 3>{0, 3, 3}, {1, 1, 1}, {1, 2, 1}, {3, 7, 7}, {2, 16, 16}, {2, 17, 16}, {5, 3, 300}}) {
    at.push_back({{"batch", batch}, {"height", height}, {"width", width}});
  }
  return at;
}

TEST(BatchNormBehindConvolutions, MatchesWithRowsOfPixels) {
  for (const int64_t channels : {3, 64}) {
    EXPECT_TRUE(matches_every_way(normalised(shape(f32, "batch", 3, "height", "width"), shape(f32, channels, 3, 3, 3),
                                             false, {.low = {1, 1}, .high = {1, 1}}),
                                  {.relative = 1e-3, .of_largest = 1e-5, .at = image_sizes()}))
        << channels;
  }
}

TEST(BatchNormBehindConvolutions, MatchesWithChannelsSideBySide) {
  for (const int64_t channels : {16, 300}) {
    EXPECT_TRUE(
        matches_every_way(normalised(shape(f32, "batch", 4, "height", "width"), shape(f32, channels, 4, 1, 1), true),
                          {.relative = 1e-3, .of_largest = 1e-5, .at = image_sizes()}))
        << channels;
  }
}

TEST(BatchNormBehindConvolutions, LosesNothingOfAVarianceFarFromZero) {
  const auto inputs = [&](const Graph& graph, const Bindings& bindings) {
    std::mt19937_64 rng(11);
    std::vector<Array> arrays;
    for (const Value& in : graph.inputs()) {
      const bool is_image = arrays.empty();
      const bool is_weight = arrays.size() == 1;
      arrays.push_back(random_array(in.dtype(), resolve(in.shape(), bindings).dims(), rng, is_image ? 999.0 : 0.5,
                                    is_image    ? 1001.0
                                    : is_weight ? 0.6
                                                : 2.0));
    }
    return arrays;
  };
  const Graph graph = normalised(shape(f32, "batch", 3, "height", "width"), shape(f32, 8, 3, 1, 1), false);
  EXPECT_TRUE(matches_every_way(
      graph,
      {.relative = 5e-3, .absolute = 5e-3, .at = {{{"batch", 3}, {"height", 50}, {"width", 60}}}, .inputs = inputs}));
}

TEST(BatchNormBehindConvolutions, GradientsMatch) {
  const Value x = input("x", shape(f32, "batch", 4, "height", "width"));
  const Value w = input("w", shape(f32, 20, 4, 3, 3));
  const Value s = input("s", shape(f32, 20));
  const Value b = input("b", shape(f32, 20));
  const BatchNorm norm = batch_norm_training(conv(x, w), s, b, s, b);
  const std::vector<Value> slopes = gradients(reduce_sum(relu(norm.y) * sigmoid(norm.y)), {x, w, s, b});
  const Graph graph({x, w, s, b}, {{"x", slopes[0]}, {"w", slopes[1]}, {"s", slopes[2]}, {"b", slopes[3]}});
  const std::vector<Bindings> at{{{"batch", 3}, {"height", 9}, {"width", 8}},
                                 {{"batch", 1}, {"height", 40}, {"width", 30}}};
  EXPECT_TRUE(compiled_matches(graph, {.relative = 2e-3, .of_largest = 1e-4, .at = at}));
}

}  // namespace
}  // namespace tenon::late_reductions_test
