// Sorting and running operations against plain loops.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "support/kind_gradient.h"
#include "tenon/indexing.h"
#include "tenon/interpreter.h"

namespace tenon::sort_test {
namespace {

const double kNan = std::numeric_limits<double>::quiet_NaN();
const double kInf = std::numeric_limits<double>::infinity();

Value in(const char* name, const char* text) { return input(name, Shape::parse(text)); }

TEST(Sort, EveryDtypeAtEverySizeAlongTheMiddle) {
  std::mt19937_64 rng(1);
  for (const Dtype dtype : all_dtypes()) {
    const Value x = input("x", shape(dtype, "a", "n", "c"));
    const Graph graph({x}, {{"up", sort(x, 1)}, {"down", sort(x, 1, true)}, {"at", argsort(x, 1)}});
    for (const int64_t n : {0, 1, 7, 8, 9, 200}) {
      const Array data = random_array(dtype, {2, n, 3}, rng);
      const auto out = interpret(graph, {data});
      for (int64_t line = 0; line < 6; ++line) {
        std::multiset<double> expected;
        const auto place = [&](int64_t i) { return (line / 3 * n + i) * 3 + line % 3; };
        for (int64_t i = 0; i < n; ++i) {
          expected.insert(data.at(place(i)));
        }
        int64_t i = 0;
        for (const double value : expected) {
          ASSERT_EQ(out[0].at(place(i)), value) << name(dtype) << " " << n;
          ASSERT_EQ(out[1].at(place(n - 1 - i)), value) << name(dtype) << " " << n;
          ASSERT_EQ(data.at(place(static_cast<int64_t>(out[2].at(place(i))))), value);
          ++i;
        }
      }
    }
  }
}

TEST(Sort, IsStableAndKnowsWhereNaNGoes) {
  const Value x = in("x", "f32[n]");
  const Graph graph(
      {x}, {{"up", sort(x)}, {"at", argsort(x)}, {"down", sort(x, 0, true)}, {"at_down", argsort(x, -1, true)}});
  const auto out = interpret(graph, {Array::from<double>({7}, {2, kNan, 1, -kInf, 2, kNan, kInf}).cast(f32)});
  EXPECT_TRUE(close(out[0], Array::from<double>({7}, {-kInf, 1, 2, 2, kInf, kNan, kNan}).cast(f32)));
  EXPECT_TRUE(same(out[1], Array::from<int64_t>({7}, {3, 2, 0, 4, 6, 1, 5})));
  EXPECT_TRUE(close(out[2], Array::from<double>({7}, {kNan, kNan, kInf, 2, 2, 1, -kInf}).cast(f32)));
  EXPECT_TRUE(same(out[3], Array::from<int64_t>({7}, {1, 5, 6, 0, 4, 2, 3})));
}

TEST(Sort, OthersFollowTheFirst) {
  const Value key = in("key", "i8[n]");
  const Value a = in("a", "f64[n]");
  const Value b = in("b", "bool[n]");
  const auto sorted = sort_together({key, a, b}, 0);
  const Graph graph({key, a, b}, {{"key", sorted[0]}, {"a", sorted[1]}, {"b", sorted[2]}});
  const auto out = interpret(graph, {Array::from<int8_t>({3}, {3, -1, 2}), Array::from<double>({3}, {.3, .1, .2}),
                                     Array::from<bool>({3}, {true, false, true})});
  EXPECT_TRUE(same(out[1], Array::from<double>({3}, {.1, .2, .3})));
  EXPECT_TRUE(same(out[2], Array::from<bool>({3}, {false, true, true})));
}

TEST(Sort, TopKOnSymbolicSizes) {
  const Value x = in("x", "f32[batch, n]");
  const Value like = in("like", "f32[k]");
  const TopK best = top_k(x, Extent::name("k"));
  const TopK worst = top_k(x, 2, 0, false);
  EXPECT_EQ(best.values.shape().to_string(), "f32[batch, k]");
  const Graph graph({x, like},
                    {{"values", best.values}, {"at", best.indices}, {"low", worst.values}, {"low_at", worst.indices}});
  const Array data = Array::from<float>({2, 4}, {1, 5, 5, 2, 9, 0, 3, 9});
  const auto out = interpret(graph, {data, Array(f32, {3})});
  EXPECT_TRUE(same(out[0], Array::from<float>({2, 3}, {5, 5, 2, 9, 9, 3})));
  EXPECT_TRUE(same(out[1], Array::from<int64_t>({2, 3}, {1, 2, 3, 0, 3, 2})));
  EXPECT_TRUE(same(out[2], Array::from<float>({2, 4}, {1, 0, 3, 2, 9, 5, 5, 9})));
  EXPECT_TRUE(same(out[3], Array::from<int64_t>({2, 4}, {0, 1, 1, 0, 1, 0, 0, 1})));
  EXPECT_EQ(interpret(graph, {data, Array(f32, {0})})[0].dims(), (std::vector<int64_t>{2, 0}));
  const std::string error = error_text([&] { interpret(graph, {data, Array(f32, {5})}); });
  EXPECT_NE(error.find("slice"), std::string::npos) << error;
  EXPECT_NE(error.find("`n` is 4"), std::string::npos) << error;
}

TEST(SortGradient, FlowsBackToWhereElementsCameFrom) {
  std::mt19937_64 rng(2);
  const Value key = in("key", "f64[a, n]");
  const Value follower = in("follower", "f64[a, n]");
  const Value count = in("count", "i64[a, n]");
  for (const int axis : {0, 1}) {
    for (const bool descending : {false, true}) {
      const auto sorted = sort_together({key, follower, count}, axis, descending);
      for (const int64_t n : {0, 1, 7}) {
        EXPECT_TRUE(kind_gradient_matches<Sort>(
            sorted[0].node(),
            {random_array(f64, {3, n}, rng), random_array(f64, {3, n}, rng), random_array(i64, {3, n}, rng)}));
      }
    }
  }
}

struct Running {
  const char* name;
  Value (*build)(const Value&, int, bool, bool);
  double (*combine)(double, double);
  double start;
};

const std::vector<Running> kRunning = {
    {"sum", cumulative_sum, [](double a, double b) { return a + b; }, 0},
    {"product", cumulative_product, [](double a, double b) { return a * b; }, 1},
    {"max", cumulative_max, [](double a, double b) { return std::isnan(a) || a > b ? a : b; }, -kInf},
    {"min", cumulative_min, [](double a, double b) { return std::isnan(a) || a < b ? a : b; }, kInf},
};

TEST(Scan, EveryOperationDirectionAndSize) {
  std::mt19937_64 rng(3);
  const Value x = in("x", "f64[n, 3]");
  for (const Running& op : kRunning) {
    for (const bool exclusive : {false, true}) {
      for (const bool reverse : {false, true}) {
        const Graph graph({x}, {{"y", op.build(x, 0, exclusive, reverse)}});
        for (const int64_t n : {0, 1, 7, 8, 9, 50}) {
          const Array data = random_array(f64, {n, 3}, rng);
          Array expected(f64, {n, 3});
          // By definition: everything from the beginning anew for each element.
          for (int64_t i = 0; i < n * 3; ++i) {
            double value = op.start;
            for (int64_t k = 0; k < n; ++k) {
              const int64_t row = reverse ? n - 1 - k : k;
              const int64_t distance = reverse ? row - i / 3 : i / 3 - row;
              if (distance > 0 || (distance == 0 && !exclusive)) {
                value = op.combine(value, data.at(row * 3 + i % 3));
              }
            }
            expected.mutable_values<double>()[static_cast<size_t>(i)] = value;
          }
          EXPECT_TRUE(close(interpret(graph, {data})[0], expected, 1e-12, 1e-12))
              << op.name << exclusive << reverse << n;
        }
      }
    }
  }
}

TEST(Scan, IntegersWrapFloatsRoundOnceNaNStays) {
  const Value x = in("x", "i8[n]");
  const Value h = in("h", "f16[m]");
  const Value u = in("u", "u16[k]");
  const Graph graph({x, h, u}, {{"sum", cumulative_sum(x)},
                                {"low", cumulative_max(x, 0, true)},
                                {"half", cumulative_sum(h)},
                                {"max", cumulative_max(h, 0, false, true)},
                                {"product", cumulative_product(u)}});
  const auto out = interpret(
      graph, {Array::from<int8_t>({3}, {100, 100, -1}), Array::from<double>({5}, {2048, 0.5, 0.5, 0.5, 0.5}).cast(f16),
              Array::from<uint16_t>({2}, {65535, 65535})});
  EXPECT_TRUE(same(out[0], Array::from<int8_t>({3}, {100, -56, -57})));
  EXPECT_TRUE(same(out[1], Array::from<int8_t>({3}, {-128, 100, 100})));
  EXPECT_EQ(out[2].at(4), 2050);
  EXPECT_TRUE(same(out[4], Array::from<uint16_t>({2}, {65535, 1})));
  const auto nan =
      interpret(graph, {Array(i8, {0}), Array::from<double>({3}, {1, kNan, 2}).cast(f16), Array(u16, {0})});
  EXPECT_TRUE(std::isnan(nan[3].at(0)) && std::isnan(nan[3].at(1)) && nan[3].at(2) == 2);
}

TEST(ScanGradient, EveryOperationDirectionAndSize) {
  std::mt19937_64 rng(4);
  const Value x = in("x", "f64[n, 3]");
  for (const Running& op : kRunning) {
    for (const bool exclusive : {false, true}) {
      for (const bool reverse : {false, true}) {
        const Value y = op.build(x, 0, exclusive, reverse);
        for (const int64_t n : {0, 1, 7}) {
          if (!std::isfinite(op.start) && exclusive && n > 0) {
            continue;  // the loss would be infinite; the next test looks at these
          }
          EXPECT_TRUE(kind_gradient_matches<Scan>(y.node(), {random_array(f64, {n, 3}, rng)}))
              << op.name << exclusive << reverse << n;
        }
        // No, one and two zeros in a line.
        const Array zeros = Array::from<double>({5, 3}, {2, 1, 0, 3, 0, 4, -1, 2, 0, 5, 3, 2, 0.5, 4, -3});
        if (std::string(op.name) == "product") {
          EXPECT_TRUE(kind_gradient_matches<Scan>(y.node(), {zeros})) << exclusive << reverse;
        }
      }
    }
  }
}

TEST(ScanGradient, ExclusiveExtremes) {
  const Value x = in("x", "f64[n]");
  const Value g = in("g", "f64[n]");
  const Array data = Array::from<double>({5}, {1, 3, 2, 3, 4});
  const Array upper = Array::from<double>({5}, {1, 10, 100, 1000, 10000});
  const Value forward = cumulative_max(x, 0, true);
  const Value backward = cumulative_min(x, 0, true, true);
  const Graph graph({x, g}, {{"max", gradient(*forward.node().as<Scan>(), forward.node(), {g})[0]},
                             {"min", gradient(*backward.node().as<Scan>(), backward.node(), {g})[0]}});
  const auto out = interpret(graph, {data, upper});
  EXPECT_TRUE(same(out[0], Array::from<double>({5}, {10, 11100, 0, 0, 0})));
  EXPECT_TRUE(same(out[1], Array::from<double>({5}, {0, 0, 11, 100, 1000})));
}

}  // namespace
}  // namespace tenon::sort_test
