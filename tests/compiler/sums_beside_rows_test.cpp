// Reductions of everything over some of the loops of a matrix, beside rows of it: each is cut along a loop of its own.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "support/compiled.h"
#include "support/equivalence.h"
#include "support/small_graph.h"
#include "tenon/autodiff.h"
#include "tenon/indexing.h"
#include "tenon/losses.h"
#include "tenon/nn.h"
#include "tenon/ops.h"

namespace tenon::sums_beside_rows_test {
namespace {

/// Every pair of sizes, but for the pair of the largest, which the interpreter is slow at.
std::vector<Bindings> all_sizes(std::vector<int64_t> sizes = {0, 1, 3, 17, 5000}) {
  std::vector<Bindings> all;
  for (const int64_t n : sizes) {
    for (const int64_t m : sizes) {
      if (n * m <= 17 * 5000) {
        all.push_back({{"n", n}, {"m", m}});
      }
    }
  }
  return all;
}

/// With inputs of another dtype.
Graph graph_of(SmallGraph text, std::string_view dtype) {
  for (size_t at = 0; (at = text.inputs.find("f32", at)) != std::string::npos; at += dtype.size()) {
    text.inputs.replace(at, 3, dtype);
  }
  return make(text);
}

class SumsBesideRows : public testing::TestWithParam<SmallGraph> {};

TEST_P(SumsBesideRows, MatchEveryWay) {
  EXPECT_TRUE(matches_every_way(graph_of(GetParam(), "f32"), {.of_largest = 2e-6, .at = all_sizes()}));
}

TEST_P(SumsBesideRows, MatchEveryWayToTheLastDigits) {
  EXPECT_TRUE(
      matches_every_way(graph_of(GetParam(), "f64"), {.relative = 1e-12, .absolute = 1e-12, .at = all_sizes()}));
}

// Rows longer than a tile, and more of them than one holds.
TEST_P(SumsBesideRows, MatchBeyondATile) {
  const std::vector<Bindings> at{{{"n", 3}, {"m", 20'000}}, {{"n", 20'000}, {"m", 3}}, {{"n", 3}, {"m", 16'384}}};
  for (const int64_t most_row_bytes : {int64_t{0}, CompileOptions{}.most_row_bytes}) {
    EXPECT_TRUE(compiled_matches(graph_of(GetParam(), "f64"),
                                 {.compile = {.disk_cache = false, .most_row_bytes = most_row_bytes},
                                  .relative = 1e-11,
                                  .absolute = 1e-11,
                                  .at = at}))
        << most_row_bytes;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, SumsBesideRows,
    testing::Values(
        SmallGraph{"plain_sums", "a: f64[n, m], c: f64[m]", "y = add(reduce_sum(c), reduce_sum(a)); y1 = softmax(a)"},
        // Squares: sums of f32 that cancel say little.
        SmallGraph{"softmax", "a: f32[n, m], c: f32[m]",
                   "y = add(reduce_sum(square(c)), reduce_sum(square(a))); y1 = softmax(a)"},
        SmallGraph{"softmax_last", "a: f32[n, m], c: f32[m]",
                   "y1 = softmax(a); y = add(reduce_sum(square(a)), reduce_sum(square(c)))"},
        SmallGraph{"layer_norm", "a: f32[n, m], c: f32[m]",
                   "y = add(reduce_sum(square(c)), reduce_sum(square(a))); y1 = layer_norm(a)"},
        SmallGraph{
            "less_the_largest", "a: f32[n, m], c: f32[m]",
            "y = add(reduce_sum(square(c)), reduce_sum(square(a))); y1 = sub(a, reduce_max(a, axes=[1], keep=true))"},
        SmallGraph{"sum_of_rows", "a: f32[n, m], c: f32[m]",
                   "y = add(reduce_sum(square(c)), reduce_sum(square(softmax(a)))); y1 = mul(softmax(a), y)"},
        SmallGraph{"columns", "a: f32[n, m], b: f32[n]",
                   "y = add(reduce_sum(square(b)), reduce_sum(square(a))); y1 = softmax(a, axis=0)"},
        SmallGraph{"largest_of_columns", "b: f32[n], c: f32[m]",
                   "t = broadcast(b, to=[n, m], axes=[0]); p = sin(mul(t, broadcast(c, to=[n, m], axes=[1]))); "
                   "q = sin(add(broadcast(tanh(mul(reduce_sum(t, axes=[0]), 0.25)), to=[n, m], axes=[1]), p)); "
                   "r = tanh(add(broadcast(reduce_min(q, axes=[0]), to=[n, m], axes=[1]), t)); "
                   "y = max(reduce_max(r), reduce_max(b))"},
        SmallGraph{"mean", "a: f32[n, m], c: f32[m]", "y = add(reduce_mean(c), reduce_mean(a)); y1 = softmax(a)"},
        SmallGraph{
            "variance", "a: f32[n, m], c: f32[m]",
            "y = add(variance(c, axes=[0], correction=0), variance(a, axes=[0, 1], correction=0)); y1 = softmax(a)"},
        SmallGraph{"variance_alone", "a: f32[n, m], c: f32[m]",
                   "y = add(variance(c, axes=[0], correction=0), variance(a, axes=[0, 1], correction=0))"},
        SmallGraph{
            "variance_beside_columns", "a: f32[n, m], b: f32[n], c: f32[m]",
            "y = add(add(reduce_sum(square(b)), reduce_sum(square(c))), variance(a, axes=[0, 1], correction=0)); "
            "y1 = softmax(a, axis=0)"},
        SmallGraph{"three", "a: f32[n, m], b: f32[n], c: f32[m]",
                   "y = add(add(reduce_sum(square(c)), reduce_max(b)), reduce_sum(square(a))); y1 = softmax(a)"},
        SmallGraph{"position", "a: f32[n, m], c: f32[m]",
                   "y = add(argmax(c, axis=0), argmax(reshape(a, to=[n * m]), axis=0)); y1 = softmax(a)"}),
    [](const auto& each) { return each.param.name; });

/// A loss with a penalty on all parameters, and its gradients.
Graph regularised(bool with_weights) {
  const Value x = input("x", shape(f32, "n", "m"));
  const Value labels = input("labels", shape(i64, "n"));
  const Value bias = input("bias", shape(f32, "m"));
  const Value weights = input("weights", shape(f32, "m", "m"));
  const Value logits = (with_weights ? matmul(x, weights) : x) + bias;
  const Value penalty = reduce_sum(square(bias)) + reduce_sum(square(with_weights ? weights : x));
  const Value loss = cross_entropy(logits, labels) + 0.01 * penalty;
  std::vector<Value> inputs{x, labels, bias};
  std::vector<Value> by{x, bias};
  if (with_weights) {
    inputs.push_back(weights);
    by.push_back(weights);
  }
  const std::vector<Value> slopes = gradients(loss, by);
  std::vector<Output> outputs{{"loss", loss}, {"probabilities", softmax(logits)}};
  for (size_t i = 0; i < slopes.size(); ++i) {
    outputs.push_back({"d" + std::to_string(i), slopes[i]});
  }
  return {inputs, outputs};
}

/// Random ones, with labels that are classes; there is none where m is 0.
CompiledCheck with_labels(std::vector<Bindings> at) {
  std::erase_if(at, [](const Bindings& sizes) { return sizes.at("m") == 0 && sizes.at("n") != 0; });
  return {.of_largest = 2e-6, .at = std::move(at), .inputs = [](const Graph& graph, const Bindings& sizes) {
            std::vector<Array> inputs = random_inputs(graph, sizes, 11);
            for (int64_t i = 0; i < inputs[1].size(); ++i) {
              inputs[1].mutable_values<int64_t>()[static_cast<size_t>(i)] = i * 7 % sizes.at("m");
            }
            return inputs;
          }};
}

TEST(RegularisedLoss, OfScoresMatchesEveryWay) {
  EXPECT_TRUE(matches_every_way(regularised(false), with_labels(all_sizes())));
}

TEST(RegularisedLoss, OfALayerMatchesEveryWay) {
  EXPECT_TRUE(matches_every_way(regularised(true), with_labels(all_sizes({0, 1, 3, 17, 70}))));
}

/// A softmax of what rows leave, given twice: what does not go into one kernel goes into several.
TEST(SumsOfRows, ASoftmaxOfSumsInTwoPlaces) {
  const Value x = input("x", shape(f32, "batch", 3));
  const Value sums = logsumexp(sin(min(sort(x, 0), x)), {0});
  const Value y = log_softmax(sums, 0);
  EXPECT_TRUE(matches_every_way(Graph({x}, {{"joined", concat({sums, sums, y}, 0)}, {"y", y}}), {.bindings = 6}));
}

}  // namespace
}  // namespace tenon::sums_beside_rows_test
