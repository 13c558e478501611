// Softmax and attention whose scores lie so far apart that exponentials would be denormal.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernel/scalar/scalar.h"
#include "support/arrays.h"
#include "support/compiled.h"
#include "tenon/autodiff.h"
#include "tenon/interpreter.h"
#include "tenon/nn.h"

namespace tenon::denormals_test {
namespace {

constexpr float kLeast = static_cast<float>(vanishing_exponent(f32));

/// 0 somewhere in every row and elsewhere numbers around the one whose exponential is the last to count.
Array scores(int64_t rows, int64_t columns) {
  const float others[] = {kLeast, std::nextafter(kLeast, -1000.0f), kLeast + 1, kLeast - 1, -95, -104, -1000, -20};
  Array x(f32, {rows, columns});
  for (int64_t i = 0; i < x.size(); ++i) {
    const bool is_largest = i % columns == i / columns % columns;
    x.mutable_values<float>()[static_cast<size_t>(i)] = is_largest ? 0 : others[static_cast<size_t>(i * 7) % 8];
  }
  return x;
}

TEST(Denormals, SoftmaxIsZeroWhereTheExponentialWouldBeOne) {
  const Value x = input("x", shape(f32, "row", "col"));
  const Graph graph({x}, {{"y", softmax(x, -1)}});
  const Executable executable = compile(graph);
  for (const int64_t columns : {1, 7, 15, 16, 17, 33, 1000}) {
    const Array in = scores(9, columns);
    const Array exact = interpret(graph, {in})[0];
    const Array got = executable.run({in})[0];
    for (int64_t i = 0; i < in.size(); ++i) {
      if (in.at(i) < static_cast<double>(kLeast)) {
        EXPECT_EQ(exact.at(i), 0) << in.at(i);
        EXPECT_EQ(got.at(i), 0) << in.at(i);
      } else {
        EXPECT_GE(got.at(i), static_cast<double>(std::numeric_limits<float>::min())) << in.at(i);
        EXPECT_NEAR(got.at(i), std::exp(in.at(i)), 2e-6 * std::exp(in.at(i))) << "the sum is 1";
        EXPECT_NEAR(exact.at(i), std::exp(in.at(i)), 2e-6 * std::exp(in.at(i)));
      }
    }
  }
}

TEST(Denormals, HalfTypesAndF64HaveTheirOwnLimits) {
  for (const Dtype dtype : {f16, bf16, f64}) {
    const Value x = input("x", shape(dtype, "n"));
    const Executable executable = compile(Graph({x}, {{"y", cast(exp_normal(x), f64)}}));
    const double least = vanishing_exponent(dtype);
    const auto at = [&](double number) { return executable.run({Array::full(dtype, {3}, number)})[0].at(2); };
    EXPECT_EQ(at(0), 1);
    EXPECT_EQ(at(least) > 0, dtype != f16) << "which has no such numbers";
    EXPECT_EQ(at(least * 1.0625), 0);
    EXPECT_EQ(at(-std::numeric_limits<double>::infinity()), 0);
    EXPECT_TRUE(std::isnan(at(std::numeric_limits<double>::quiet_NaN())));
  }
}

/// libm would take denormals apart bit by bit, and give what is neither f(x) nor f(0).
TEST(Denormals, FunctionsOfF64ReadThemAsZeroWhereFlushed) {
  const Value x = input("x", shape(f64, "n"));
  const Executable executable =
      compile(Graph({x}, {{"log", log(x)}, {"root", pow(x, 0.25)}, {"angle", atan2(x, -5.0)}, {"rest", mod(x, 2.0)}}));
  constexpr double kDenormal = 1e-310;
  for (const int64_t n : {1, 9}) {
    const Array array = Array::full(f64, {n}, kDenormal);
    const std::vector<Array> flushed = executable.run({array}, {.flush_denormals = true});
    EXPECT_EQ(flushed[0].at(n - 1), -std::numeric_limits<double>::infinity());
    EXPECT_EQ(flushed[1].at(n - 1), 0);
    EXPECT_GT(flushed[2].at(n - 1), 3.14);
    EXPECT_EQ(flushed[3].at(n - 1), 0);
    const std::vector<Array> kept = executable.run({array});
    EXPECT_NEAR(kept[0].at(n - 1), std::log(kDenormal), 1e-9);
    EXPECT_NEAR(kept[1].at(n - 1), std::pow(kDenormal, 0.25), 1e-90);
    EXPECT_EQ(kept[3].at(n - 1), kDenormal);
  }
}

/// Far apart, in rows that are streamed and rows that are not, with gradients.
TEST(Denormals, AttentionOfScoresFarApart) {
  const Value q = input("q", shape(f32, 2, "s", 8));
  const Value k = input("k", shape(f32, 2, "t", 8));
  const Value v = input("v", shape(f32, 2, "t", 5));
  const Value y = attention(q, k, v);
  const std::vector<Value> by = gradients(reduce_sum(y * y), {q, k, v});
  const Graph graph({q, k, v}, {{"y", y}, {"q", by[0]}, {"k", by[1]}, {"v", by[2]}});
  const auto inputs = [](const Graph& of, const Bindings& bindings) {
    std::mt19937_64 rng(5);
    std::vector<Array> arrays;
    for (const Value& in : of.inputs()) {
      const double spread = arrays.empty() ? 60 : 1;
      arrays.push_back(random_array(f32, resolve(in.shape(), bindings).dims(), rng, -spread, spread));
    }
    return arrays;
  };
  std::vector<Bindings> at;
  for (const int64_t keys : {1, 17, 255, 300, 700}) {
    at.push_back({{"s", 9}, {"t", keys}});
  }
  EXPECT_TRUE(matches_every_way(graph, {.relative = 1e-4, .of_largest = 1e-4, .at = at, .inputs = inputs}));
}

}  // namespace
}  // namespace tenon::denormals_test
