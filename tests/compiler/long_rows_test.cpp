// Rows that do not stay in cache are streamed: the same results as those that do.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "support/arrays.h"
#include "tenon/compile.h"
#include "tenon/interpreter.h"
#include "tenon/losses.h"
#include "tenon/nn.h"

namespace tenon::long_rows_test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr int64_t kTile = 16384;  // elements of a row that are reduced at once

struct Rows {
  std::string name;
  std::function<Value(const Value& x)> of;
  double relative = 2e-6;
  double absolute = 1e-9;
};

std::ostream& operator<<(std::ostream& out, const Rows& rows) { return out << rows.name; }

Graph graph_of(const Rows& rows, Dtype dtype = f32) {
  const Value x = input("x", shape(dtype, "row", "col"));
  return {{x}, {{"y", rows.of(x)}}};
}

const std::vector<Rows>& all_rows() {
  static const std::vector<Rows> rows{
      {"softmax", [](const Value& x) { return softmax(x); }},
      {"log_softmax", [](const Value& x) { return log_softmax(x); }, 1e-5},
      {"logsumexp", [](const Value& x) { return logsumexp(x, {-1}); }},
      {"variance", [](const Value& x) { return variance(x, {-1}, false, 0); }},
      {"standard_deviation_of_tanh", [](const Value& x) { return standard_deviation(tanh(x), {-1}, false, 0); }, 1e-5},
      {"layer_norm", [](const Value& x) { return layer_norm(x); }, 1e-5, 2e-6},
      {"softmax_down", [](const Value& x) { return softmax(x, 0); }},
      {"variance_of_all", [](const Value& x) { return variance(x, {}, false, 0); }},
      {"softmax_of_all", [](const Value& x) { return exp(x - reduce_max(x)) / reduce_sum(exp(x - reduce_max(x))); }},
      {"mean_of_logsumexp", [](const Value& x) { return reduce_mean(logsumexp(x, {-1})); }},
      {"softmax_then_variance", [](const Value& x) { return variance(softmax(x), {-1}, false, 0); }, 1e-3},
      {"less_the_mean_of_logsumexp", [](const Value& x) { return x - reduce_mean(logsumexp(x, {-1})); }, 1e-5, 1e-5},
      {"softmax_less_the_largest", [](const Value& x) { return softmax(x - reduce_max(x)); }, 1e-5},
      {"columns_of_a_concat",
       [](const Value& x) {
         const Value both = concat({x, mish(x)}, 0);
         return both * reduce_max(both, {0}, true);
       },
       1e-5},
      // What is summed is no such form: these are read once for each reduction.
      {"mean_deviation", [](const Value& x) { return reduce_mean(abs(x - reduce_mean(x, {1}, true)), {1}); }},
      {"from_the_smallest", [](const Value& x) { return reduce_sum(exp(reduce_min(x, {1}, true) - x), {1}); }},
      {"squares_from_the_largest",
       [](const Value& x) { return reduce_sum(square(x - reduce_max(x, {1}, true)), {1}); }},
  };
  return rows;
}

class LongRows : public testing::TestWithParam<Rows> {};

TEST_P(LongRows, EqualTheInterpreterAtEveryLength) {
  const Graph graph = graph_of(GetParam());
  std::mt19937_64 rng(5);
  for (const bool native : {true, false}) {
    const Executable streams = compile(graph, {.native = native, .disk_cache = false, .most_row_bytes = 16});
    for (const int64_t columns : {0, 1, 2, 7, 1000, 16383, 16384, 16385, 50'000}) {
      if (!native && columns > kTile + 1) {
        continue;  // slow
      }
      for (const int64_t rows : {1, 3}) {
        const Array x = random_array(f32, {rows, columns}, rng);
        EXPECT_TRUE(close(streams.run({x})[0], interpret(graph, {x})[0], GetParam().relative, GetParam().absolute))
            << rows << " x " << columns;
      }
    }
  }
}

TEST_P(LongRows, AreTheSameBitsOnAnyNumberOfThreads) {
  const Graph graph = graph_of(GetParam());
  const Executable streams = compile(graph, {.disk_cache = false, .most_row_bytes = 0, .least_shared_work = 0});
  std::mt19937_64 rng(6);
  const Array x = random_array(f32, {2, 5 * kTile + 3}, rng);
  const Array expected = streams.run({x}, {.threads = 1})[0];
  for (const int threads : {2, 3, 8}) {
    EXPECT_TRUE(same(streams.run({x}, {.threads = threads})[0], expected)) << threads;
  }
}

/// A row for each way of infinities and NaN to lie in tiles.
Array special_rows() {
  constexpr int64_t kColumns = 2 * kTile + 5;
  const std::vector<std::function<float(int64_t)>> rows{
      [](int64_t) { return -kInfinity; },
      [](int64_t) { return kInfinity; },
      [](int64_t) { return kNan; },
      [](int64_t i) { return i < kTile ? -kInfinity : 1.0f; },       // a tile without numbers
      [](int64_t i) { return i == 2 * kTile ? 3.0f : -kInfinity; },  // one number
      [](int64_t i) { return i == 5 ? kInfinity : 0.5f; },           // an infinity in one tile
      [](int64_t i) { return i == kTile + 5 ? kNan : -1.0f; },       // a NaN in another
      [](int64_t i) { return i == 1   ? kInfinity
                             : i == 2 ? -kInfinity
                                      : 0; },
      [](int64_t i) { return i < kTile ? 1e30f : -1e30f; },  // far apart
      [](int64_t) { return -3e38f; },
  };
  Array x = Array::uninitialized(f32, {std::ssize(rows), kColumns});
  const auto values = x.mutable_values<float>();
  for (size_t row = 0; row < rows.size(); ++row) {
    for (int64_t i = 0; i < kColumns; ++i) {
      values[row * static_cast<size_t>(kColumns) + static_cast<size_t>(i)] = rows[row](i);
    }
  }
  return x;
}

TEST_P(LongRows, TakeInfinitiesAndNanAsTheInterpreterDoes) {
  const Graph graph = graph_of(GetParam());
  const Executable streams = compile(graph, {.disk_cache = false, .most_row_bytes = 0, .least_shared_work = 0});
  const Array special = special_rows();
  const int64_t columns = special.dims()[1];
  for (int64_t row = 0; row < special.dims()[0]; ++row) {
    Array x = Array::uninitialized(f32, {1, columns});
    std::ranges::copy(special.values<float>().subspan(static_cast<size_t>(row * columns), static_cast<size_t>(columns)),
                      x.mutable_values<float>().begin());
    const Array expected = interpret(graph, {x})[0];
    // Sums beyond f32 are infinite here and exact in the interpreter.
    const bool overflows = row >= 8 && GetParam().name != "softmax" && GetParam().name != "logsumexp";
    if (!overflows) {
      EXPECT_TRUE(close(streams.run({x})[0], expected, GetParam().relative, GetParam().absolute)) << "row " << row;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, LongRows, testing::ValuesIn(all_rows()),
                         [](const auto& each) { return each.param.name; });

TEST(LongRowsAccuracy, VarianceFarFromZeroAndDriftingStaysWithinAFewUlp) {
  const Graph graph = graph_of({"variance", [](const Value& x) { return variance(x, {-1}, false, 0); }});
  const Executable streams = compile(graph, {.disk_cache = false});
  constexpr int64_t kColumns = 3'000'001;
  for (const double offset : {0.0, 100.0, 10'000.0}) {
    std::mt19937_64 rng(7);
    Array x = random_array(f32, {1, kColumns}, rng, -1, 1);
    double mean = 0;
    for (int64_t i = 0; float& each : x.mutable_values<float>()) {
      each += static_cast<float>(offset + static_cast<double>(i++) * 1e-6);
      mean += static_cast<double>(each);
    }
    mean /= static_cast<double>(kColumns);
    double squares = 0;
    for (const float each : x.values<float>()) {
      squares += (static_cast<double>(each) - mean) * (static_cast<double>(each) - mean);
    }
    const double expected = squares / static_cast<double>(kColumns);
    const auto actual = static_cast<double>(streams.run({x})[0].values<float>()[0]);
    EXPECT_NEAR(actual / expected, 1, 1e-6 + offset * 1e-9) << offset;
  }
}

TEST(LongRowsAccuracy, SumsOfPowersStayWithinAFewUlp) {
  const Graph graph = graph_of({"logsumexp", [](const Value& x) { return logsumexp(x, {-1}); }});
  const Executable streams = compile(graph, {.disk_cache = false});
  std::mt19937_64 rng(8);
  for (const double top : {1.0, 30.0, 5000.0}) {
    const Array x = random_array(f32, {1, 2'000'000}, rng, -top, top);
    double largest = -1e300;
    for (const float each : x.values<float>()) {
      largest = std::max(largest, static_cast<double>(each));
    }
    double sum = 0;
    for (const float each : x.values<float>()) {
      sum += std::exp(static_cast<double>(each) - largest);
    }
    const double expected = std::log(sum) + largest;
    EXPECT_NEAR(static_cast<double>(streams.run({x})[0].values<float>()[0]), expected, 3e-7 * std::abs(expected))
        << top;
  }
}

TEST(LongRowsTypes, F64AndHalfTypesEqualTheInterpreter) {
  std::mt19937_64 rng(9);
  for (const Dtype dtype : {f64, f16, bf16}) {
    for (const Rows& rows : all_rows()) {
      const Graph graph = graph_of(rows, dtype);
      const Executable streams = compile(graph, {.disk_cache = false, .most_row_bytes = 0, .least_shared_work = 0});
      const Array x = random_array(dtype, {2, kTile + 9}, rng, -1, 1);
      const double relative = dtype == f64 ? 1e-12 : dtype == f16 ? 4e-3 : 3e-2;
      EXPECT_TRUE(close(streams.run({x})[0], interpret(graph, {x})[0], relative, dtype == f64 ? 1e-15 : 1e-2))
          << rows.name << " of " << name(dtype);
    }
  }
}

TEST(LongRowsSeveral, NormsOfChannelsAndLossesEqualTheInterpreter) {
  const Value x = input("x", shape(f32, "batch", 3, "height", "width"));
  const Value scale = input("scale", shape(f32, 3));
  const Value mean = input("mean", shape(f32, 3));
  const Value spread = input("spread", shape(f32, 3));
  const BatchNorm norm = batch_norm_training(x, scale, mean, mean, spread, 0.1, 1e-5);
  const Graph graph({x, scale, mean, spread},
                    {{"y", norm.y}, {"mean", norm.running_mean}, {"variance", norm.running_variance}});
  const Executable streams = compile(graph, {.disk_cache = false, .most_row_bytes = 64});
  std::mt19937_64 rng(10);
  const std::vector<Array> inputs{random_array(f32, {5, 3, 70, 61}, rng), random_array(f32, {3}, rng, 0.5, 2),
                                  random_array(f32, {3}, rng), random_array(f32, {3}, rng, 0.5, 2)};
  const std::vector<Array> expected = interpret(graph, inputs);
  const std::vector<Array> actual = streams.run(inputs);
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(close(actual[i], expected[i], 1e-5, 1e-5)) << i;
  }
}

TEST(LongRowsSeveral, CrossEntropyEqualsTheInterpreter) {
  const Value x = input("x", shape(f32, "row", "class"));
  const Value labels = input("labels", shape(i64, "row"));
  const Graph graph({x, labels}, {{"loss", cross_entropy(x, labels)}});
  const Executable streams = compile(graph, {.disk_cache = false, .most_row_bytes = 64});
  std::mt19937_64 rng(11);
  for (const int64_t columns : {1, 40, 40'000}) {
    const std::vector<Array> inputs{random_array(f32, {5, columns}, rng),
                                    random_array(i64, {5}, rng, 0, static_cast<double>(columns))};
    EXPECT_TRUE(close(streams.run(inputs)[0], interpret(graph, inputs)[0], 2e-6, 1e-6)) << columns;
  }
}

}  // namespace
}  // namespace tenon::long_rows_test
