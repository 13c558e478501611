// Sums of a million f32 against f64: rows, columns, nested axes, products and what is fused into one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "support/arrays.h"
#include "tenon/compile.h"
#include "tenon/interpreter.h"
#include "tenon/ops.h"

namespace tenon::long_sums_test {
namespace {

constexpr int64_t kLong = 1'000'000;

/// Numbers that one after the other drift all in one direction: each is rounded to the digits of the sum.
Array alike(std::vector<int64_t> dims) { return Array::full(f32, std::move(dims), 0.1F); }

double worst(const Array& actual, const Array& expected) {
  double error = 0;
  for (int64_t i = 0; i < expected.size(); ++i) {
    error = std::max(error, std::abs(actual.at(i) - expected.at(i)) / std::abs(expected.at(i)));
  }
  return error;
}

/// The largest relative error of the first output, which must be the same for any number of threads.
double error_of(const Graph& graph, const std::vector<Array>& inputs, const CompileOptions& options = {}) {
  const Executable executable = compile(graph, options);
  const Array actual = executable.run(inputs, {.threads = 1})[0];
  EXPECT_TRUE(same(actual, executable.run(inputs, {.threads = 2})[0]));
  return worst(actual, interpret(graph, inputs, {.reference = true})[0]);
}

TEST(LongSums, OfRowsDoNotDrift) {
  const Value x = input("x", shape(f32, "row", "col"));
  const Graph sums({x}, {{"y", reduce_sum(x, {1})}});
  const Graph norms({x}, {{"y", sqrt(reduce_sum(x * x, {1}))}});
  const Graph means({x}, {{"y", reduce_mean(x, {1})}});
  for (const Graph& graph : {sums, norms, means}) {
    EXPECT_LT(error_of(graph, {alike({3, kLong})}), 1e-5);
    // The form for short rows, whatever they are.
    EXPECT_LT(error_of(graph, {alike({3, kLong})}, {.most_row_bytes = int64_t{1} << 40}), 1e-5);
  }
}

TEST(LongSums, OfColumnsDoNotDrift) {
  const Value x = input("x", shape(f32, "row", "col"));
  const Graph graph({x}, {{"y", reduce_sum(x, {0})}});
  EXPECT_LT(error_of(graph, {alike({kLong, 3})}), 1e-5);
  EXPECT_LT(error_of(graph, {alike({kLong / 10, 37})}), 1e-5);
}

TEST(LongSums, OfNestedAxesDoNotDrift) {
  const Value x = input("x", shape(f32, "a", "b", "c"));
  const Graph graph({x}, {{"y", reduce_sum(x, {0, 2})}});
  EXPECT_LT(error_of(graph, {alike({kLong / 100, 2, 100})}), 1e-5);
  EXPECT_LT(error_of(graph, {alike({kLong / 3, 2, 3})}), 1e-5);
  EXPECT_LT(error_of(graph, {alike({2, 2, kLong / 2})}), 1e-5);
}

/// A loop within, of no steps, feeds nothing that could move.
TEST(LongSums, OfNothing) {
  const Value x = input("x", shape(f32, "row", "col"));
  const Graph graph({x}, {{"y", x + reduce_sum(slice_axis(x, 1, 0, 0), {0, 1})}});
  for (const int64_t rows : {0, 1, 10'000}) {
    EXPECT_TRUE(same(compile(graph).run({alike({rows, 3})})[0], alike({rows, 3}))) << rows;
  }
}

/// Products are added up in parts of f32: what is all alike loses some digits from part to part, what is not does not.
TEST(LongSums, OfProductsDriftLittle) {
  const Value a = input("a", shape(f32, "row", "depth"));
  const Value b = input("b", shape(f32, "depth", "col"));
  const Value bt = input("b", shape(f32, "col", "depth"));
  const Value at = input("a", shape(f32, "depth", "row"));
  const Graph plain({a, b}, {{"y", matmul(a, b)}});
  const Graph right({a, bt}, {{"y", matmul(a, transpose(bt))}});
  const Graph left({at, b}, {{"y", matmul(transpose(at), b)}});
  for (const int64_t rows : {1, 3, 20}) {
    const int64_t depth = rows < 20 ? kLong : kLong / 4;
    EXPECT_LT(error_of(plain, {alike({rows, depth}), alike({depth, 5})}), 1e-4) << rows;
    EXPECT_LT(error_of(right, {alike({rows, depth}), alike({5, depth})}), 1e-4) << rows;
    EXPECT_LT(error_of(left, {alike({depth, rows}), alike({depth, 5})}), 1e-4) << rows;
  }
  std::mt19937_64 rng(1);
  const Array some = random_array(f32, {3, kLong}, rng, 0, 1);
  EXPECT_LT(error_of(plain, {some, random_array(f32, {kLong, 5}, rng, 0, 1)}), 1e-5);
}

}  // namespace
}  // namespace tenon::long_sums_test
