// Picking, writing, masks and arranging against plain loops, at several bindings.
#include "tenon/indexing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "support/kind_gradient.h"
#include "tenon/interpreter.h"

namespace tenon::indexing_test {
namespace {

Value in(const char* name, const char* text) { return input(name, Shape::parse(text)); }

Array counted(Dtype dtype, std::vector<int64_t> dims) {
  Array result(Dtype::i64, std::move(dims));
  auto values = result.mutable_values<int64_t>();
  std::iota(values.begin(), values.end(), int64_t{1});
  return result.cast(dtype);
}

Array random_positions(std::vector<int64_t> dims, int64_t size, std::mt19937_64& rng) {
  Array result(Dtype::i64, std::move(dims));
  for (int64_t& value : result.mutable_values<int64_t>()) {
    value = static_cast<int64_t>(rng() % static_cast<uint64_t>(2 * size)) - size;
  }
  return result;
}

int64_t from_front(int64_t position, int64_t size) { return position < 0 ? position + size : position; }

double applied(std::string_view op, double old, double update) {
  if (op == "set") {
    return update;
  }
  if (op == "add") {
    return old + update;
  }
  if (op == "mul") {
    return old * update;
  }
  return op == "max" ? std::max(old, update) : std::min(old, update);
}

const std::vector<std::string> kOps = {"set", "add", "mul", "max", "min"};

TEST(Scatter, RowsByEveryOperationAndDtype) {
  std::mt19937_64 rng(1);
  for (const Dtype dtype : all_dtypes()) {
    for (const std::string& op : kOps) {
      if (dtype == boolean && op != "set") {
        continue;
      }
      const Value x = input("x", shape(dtype, "n", 3));
      const Value u = input("u", shape(dtype, "k", 3));
      const Value i = in("i", "i64[k]");
      const Graph graph({x, u, i}, {{"y", scatter(x, u, {i}, {.axes = {0}}, op)}});
      for (const auto& [n, k] : std::vector<std::pair<int64_t, int64_t>>{{1, 0}, {1, 1}, {7, 8}, {9, 5}, {40, 100}}) {
        // Small whole numbers: exact in every dtype and in any order.
        const double high = op == "mul" ? 1.9 : 4;
        const Array data = random_array(i8, {n, 3}, rng, -2, high).cast(dtype);
        const Array update = random_array(i8, {k, 3}, rng, is_unsigned_integer(dtype) ? 0 : -2, high).cast(dtype);
        const Array at = random_positions({k}, n, rng);
        std::vector<double> expected;
        for (int64_t e = 0; e < data.size(); ++e) {
          expected.push_back(data.at(e));
        }
        for (int64_t e = 0; e < update.size(); ++e) {
          double& place = expected[static_cast<size_t>(from_front(static_cast<int64_t>(at.at(e / 3)), n) * 3 + e % 3)];
          place = applied(op, place, update.at(e));
        }
        const Array y = interpret(graph, {data, update, at})[0];
        ASSERT_EQ(y.dtype(), dtype);
        for (int64_t e = 0; e < y.size(); ++e) {
          // Integers wrap where the plain numbers go on.
          const double wanted = expected[static_cast<size_t>(e)];
          const Array wrapped = is_integer(dtype) ? Array::from<int64_t>({}, {static_cast<int64_t>(wanted)}).cast(dtype)
                                                  : Array::scalar(dtype, wanted);
          if (std::fabs(wanted) < 0x1p52) {
            ASSERT_EQ(y.at(e), wrapped.at(0)) << name(dtype) << " " << op << " " << n << " " << k;
          }
        }
      }
    }
  }
}

TEST(Scatter, BatchAxesOnEitherSideAndSeveralIndices) {
  std::mt19937_64 rng(2);
  const Value x = in("x", "f64[a, batch, b, c]");
  const Value u = in("u", "f64[batch, k, c]");
  const Value i = in("i", "i32[k, batch]");
  const Value j = in("j", "i32[k, batch]");
  const GatherAxes axes{.axes = {2, 0}, .x_batch = {1}, .index_batch = {1}};
  const Value y = scatter(x, u, {i, j}, axes, "add");
  const Graph graph({x, u, i, j}, {{"y", y}, {"back", gather(y, {i, j}, axes)}});
  EXPECT_EQ(y.shape().to_string(), "f64[a, batch, b, c]");
  for (const int64_t k : {0, 1, 9}) {
    const int64_t a = 3;
    const int64_t batch = 2;
    const int64_t b = 4;
    const int64_t c = 5;
    const Array data = random_array(f64, {a, batch, b, c}, rng);
    const Array update = random_array(f64, {batch, k, c}, rng);
    const Array first = random_positions({k, batch}, b, rng).cast(i32);
    const Array second = random_positions({k, batch}, a, rng).cast(i32);
    Array expected = data;
    auto out = expected.mutable_values<double>();
    for (int64_t p = 0; p < k; ++p) {
      for (int64_t n = 0; n < batch; ++n) {
        const int64_t at_b = from_front(static_cast<int64_t>(first.at(p * batch + n)), b);
        const int64_t at_a = from_front(static_cast<int64_t>(second.at(p * batch + n)), a);
        for (int64_t q = 0; q < c; ++q) {
          out[static_cast<size_t>(((at_a * batch + n) * b + at_b) * c + q)] += update.at((n * k + p) * c + q);
        }
      }
    }
    const auto results = interpret(graph, {data, update, first, second});
    EXPECT_TRUE(close(results[0], expected, 1e-14, 1e-14)) << k;
    EXPECT_EQ(results[1].dims(), (std::vector<int64_t>{batch, k, c}));
  }
}

TEST(Scatter, TheLastSetWinsAndSumsRoundOnce) {
  const Value x = in("x", "f16[1]");
  const Value u = in("u", "f16[k]");
  const Value i = in("i", "i64[k]");
  const Graph graph({x, u, i},
                    {{"set", scatter(x, u, {i}, {.axes = {0}})}, {"add", scatter(x, u, {i}, {.axes = {0}}, "add")}});
  const auto out = interpret(graph, {Array::full(f16, {1}, 2048), Array::full(f16, {8}, 0.5), Array(i64, {8})});
  EXPECT_EQ(out[0].at(0), 0.5);
  EXPECT_EQ(out[1].at(0), 2052);  // adding 0.5 to 2048 eight times, rounding each time, would stay at 2048
}

TEST(Scatter, NaNStaysAndErrorsSayWhere) {
  const Value x = in("x", "f32[n]");
  const Value u = in("u", "f32[k]");
  const Value i = in("i", "i64[k]");
  const Place place("/Scatter_3");
  const Graph graph({x, u, i}, {{"y", scatter(x, u, {i}, {.axes = {0}}, "max")}});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Array y = interpret(graph, {Array::from<float>({2}, {nan, 1}), Array::from<float>({2}, {3, nan}),
                                    Array::from<int64_t>({2}, {0, 1})})[0];
  EXPECT_TRUE(std::isnan(y.at(0)) && std::isnan(y.at(1)));
  EXPECT_EQ(error_text([&] { interpret(graph, {Array(f32, {4}), Array(f32, {1}), Array::from<int64_t>({1}, {-5})}); }),
            "scatter: position -5 is out of range for axis 0 of size 4\n  at node \"/Scatter_3\"");
}

TEST(Indexing, TakeAndScatterAlongAnAxis) {
  std::mt19937_64 rng(3);
  const Value x = in("x", "f32[a, b, c]");
  for (const int axis : {0, 1, -1}) {
    const size_t k = static_cast<size_t>((axis + 3) % 3);
    for (const bool prefix : {false, true}) {
      // Along the other axes the index is as long as x, or shorter.
      std::vector<Axis> axes = prefix ? std::vector<Axis>{"p", "q", "r"} : x.shape().axes();
      axes[k] = Axis("m");
      const Value index = input("index", Shape(i64, axes));
      const Value u = input("u", Shape(f32, axes));
      const Graph graph({x, index, u}, {{"taken", take_along_axis(x, index, axis)},
                                        {"written", scatter_along_axis(x, index, u, axis, "add")}});
      EXPECT_EQ(graph.outputs()[0].value.shape(), u.shape());
      const std::vector<int64_t> dims{4, 3, 5};
      for (const int64_t m : {0, 1, 7}) {
        std::vector<int64_t> index_dims = prefix ? std::vector<int64_t>{2, 3, 1} : dims;
        index_dims[k] = m;
        const Array data = random_array(f32, dims, rng);
        const Array update = random_array(f32, index_dims, rng);
        const Array at = random_positions(index_dims, dims[k], rng);
        Array taken(f32, index_dims);
        Array sums = data.cast(f64);
        for (int64_t e = 0; e < at.size(); ++e) {
          std::array<int64_t, 3> place{e / (index_dims[1] * index_dims[2]), e / index_dims[2] % index_dims[1],
                                       e % index_dims[2]};
          place[k] = from_front(static_cast<int64_t>(at.at(e)), dims[k]);
          const int64_t linear = (place[0] * dims[1] + place[1]) * dims[2] + place[2];
          taken.mutable_values<float>()[static_cast<size_t>(e)] = static_cast<float>(data.at(linear));
          sums.mutable_values<double>()[static_cast<size_t>(linear)] += update.at(e);
        }
        const auto out = interpret(graph, {data, at, update});
        EXPECT_TRUE(same(out[0], taken)) << axis << prefix << m;
        EXPECT_TRUE(close(out[1], sums.cast(f32), 1e-6, 1e-6)) << axis << prefix << m;
      }
    }
  }
}

TEST(Indexing, GatherNdAndScatterNdAreOpposites) {
  const Value x = in("x", "i32[a, b, c]");
  const Value indices = in("indices", "i64[k, 2]");
  const Value batched = in("batched", "i64[a, k, 1]");
  const Value picked = gather_nd(x, indices);
  const Value u = in("u", "i32[k, c]");
  const Graph graph({x, indices, batched, u}, {{"picked", picked},
                                               {"batched", gather_nd(x, batched, 1)},
                                               {"set", scatter_nd(x, indices, u)},
                                               {"add", scatter_nd(x, indices, picked, "add")}});
  EXPECT_EQ(picked.shape().to_string(), "i32[k, c]");
  EXPECT_EQ(graph.outputs()[1].value.shape().to_string(), "i32[a, k, c]");
  const auto out = interpret(graph, {counted(i32, {2, 3, 2}), Array::from<int64_t>({2, 2}, {1, 0, 0, -1}),
                                     Array::from<int64_t>({2, 2, 1}, {0, 2, 1, 1}), Array::full(i32, {2, 2}, 50)});
  EXPECT_TRUE(same(out[0], Array::from<int32_t>({2, 2}, {7, 8, 5, 6})));
  EXPECT_TRUE(same(out[1], Array::from<int32_t>({2, 2, 2}, {1, 2, 5, 6, 9, 10, 9, 10})));
  EXPECT_TRUE(same(out[2], Array::from<int32_t>({2, 3, 2}, {1, 2, 3, 4, 50, 50, 50, 50, 9, 10, 11, 12})));
  EXPECT_TRUE(same(out[3], Array::from<int32_t>({2, 3, 2}, {1, 2, 3, 4, 10, 12, 14, 16, 9, 10, 11, 12})));
}

TEST(Indexing, MasksCountAtEverySize) {
  const Value x = in("x", "i32[batch, r, c]");
  for (const int64_t k : {-2, -1, 0, 1, 3}) {
    const Graph graph({x}, {{"tril", tril(x, k)},
                            {"triu", triu(x, k)},
                            {"mask", triangle_mask(x.extent(1), x.extent(2), k)},
                            {"eye", eye(x.extent(1), x.extent(2), k, i32)}});
    for (const auto& [r, c] : std::vector<std::pair<int64_t, int64_t>>{{0, 3}, {1, 1}, {4, 3}, {3, 4}, {8, 9}}) {
      const Array data = counted(i32, {2, r, c});
      const auto out = interpret(graph, {data});
      for (int64_t e = 0; e < data.size(); ++e) {
        const int64_t i = e / c % r;
        const int64_t j = e % c;
        ASSERT_EQ(out[0].at(e), j - i <= k ? data.at(e) : 0);
        ASSERT_EQ(out[1].at(e), j - i >= k ? data.at(e) : 0);
        ASSERT_EQ(out[2].at(e % (r * c)), j - i <= k ? 1 : 0);
        ASSERT_EQ(out[3].at(e % (r * c)), j - i == k ? 1 : 0);
      }
    }
  }
  // The mask of a query block behind `past` keys, and zeros for infinities.
  const Value q = in("q", "f32[seq]");
  const Value causal =
      triangle_mask(Extent::name("seq"), Extent::name("past") + Extent::name("seq"), Extent::name("past"));
  const Array mask = interpret(Graph({q}, {{"mask", causal}}), {Array(f32, {2})}, {.bindings = {{"past", 1}}})[0];
  EXPECT_TRUE(same(mask.cast(i8), Array::from<int8_t>({2, 3}, {1, 1, 0, 1, 1, 1})));
  const Value inf = full(shape(f32, 2, 2), std::numeric_limits<double>::infinity());
  EXPECT_EQ(interpret(Graph(std::vector<Value>{}, {{"y", tril(inf)}}), {})[0].at(1), 0);
}

TEST(Indexing, OneHotAnywhereWithPositionsFromTheEnd) {
  const Value index = in("index", "i32[n]");
  const Value depth = in("like", "f32[depth]");
  const Graph graph({index, depth}, {{"last", one_hot(index, Extent::name("depth"))},
                                     {"first", one_hot(index, Extent::name("depth"), i8, 5, -1, 0)}});
  const auto out = interpret(graph, {Array::from<int32_t>({4}, {0, -1, 3, 1}), Array(f32, {3})});
  EXPECT_TRUE(same(out[0], Array::from<float>({4, 3}, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0})));
  EXPECT_TRUE(same(out[1], Array::from<int8_t>({3, 4}, {5, -1, -1, -1, -1, -1, -1, 5, -1, 5, -1, -1})));
  EXPECT_EQ(interpret(graph, {Array(i32, {0}), Array(f32, {0})})[0].dims(), (std::vector<int64_t>{0, 0}));
  const Value wide = in("wide", "u64[n]");
  const Array huge = Array::from<uint64_t>({2}, {UINT64_MAX, 1});
  EXPECT_TRUE(
      same(interpret(Graph({wide}, {{"y", one_hot(wide, 2)}}), {huge})[0], Array::from<float>({2, 2}, {0, 0, 0, 1})));
}

TEST(Indexing, RangesOfNumbers) {
  const Value x = in("x", "f32[n]");
  const Extent n = Extent::name("n");
  const Graph graph({x}, {{"up", arange(1, n, 2)},
                          {"down", arange(n, 0, -3, i32)},
                          {"line", linspace(-1, 0.1, n)},
                          {"grid", meshgrid({arange(0, n), arange(5, 7)})[0]},
                          {"columns", meshgrid({arange(0, n), arange(5, 7)})[1]}});
  auto out = interpret(graph, {Array(f32, {4})});
  EXPECT_TRUE(same(out[0], Array::from<int64_t>({2}, {1, 3})));
  EXPECT_TRUE(same(out[1], Array::from<int32_t>({2}, {4, 1})));
  EXPECT_TRUE(close(out[2], Array::from<float>({4}, {-1, -1 + 1.1f / 3, 0.1f - 1.1f / 3, 0.1f}), 1e-6));
  EXPECT_EQ(out[2].at(3), static_cast<double>(0.1f));
  EXPECT_TRUE(same(out[3], Array::from<int64_t>({4, 2}, {0, 0, 1, 1, 2, 2, 3, 3})));
  EXPECT_TRUE(same(out[4], Array::from<int64_t>({4, 2}, {5, 6, 5, 6, 5, 6, 5, 6})));
  out = interpret(graph, {Array(f32, {1})});
  EXPECT_EQ(out[0].size(), 0);
  EXPECT_EQ(out[2].at(0), -1);
  out = interpret(graph, {Array(f32, {0})});
  EXPECT_EQ(out[0].size() + out[1].size() + out[2].size(), 0);
}

TEST(Indexing, SplitStackTileRepeatRoll) {
  const Value x = in("x", "i32[n, 2]");
  const Extent n = Extent::name("n");
  const auto halves = split_evenly(x, 0, 2);
  const auto parts = split(x, 0, {1, n - 1});
  const auto columns = unstack(x, 1);
  const Graph graph({x}, {{"half", halves[1]},
                          {"rest", parts[1]},
                          {"column", columns[1]},
                          {"stacked", stack({columns[1], columns[0]}, -1)},
                          {"tiled", tile(x, {2, n})},
                          {"repeated", repeat_interleave(x, 2, 0)},
                          {"rolled", roll(x, 1, 0)},
                          {"back", roll(x, -1, 1)}});
  EXPECT_EQ(graph.outputs()[4].value.shape().to_string(), "i32[2*n, 2*n]");
  EXPECT_EQ(graph.outputs()[6].value.shape(), x.shape());
  const auto out = interpret(graph, {counted(i32, {2, 2})});
  EXPECT_TRUE(same(out[0], Array::from<int32_t>({1, 2}, {3, 4})));
  EXPECT_TRUE(same(out[1], Array::from<int32_t>({1, 2}, {3, 4})));
  EXPECT_TRUE(same(out[2], Array::from<int32_t>({2}, {2, 4})));
  EXPECT_TRUE(same(out[3], Array::from<int32_t>({2, 2}, {2, 1, 4, 3})));
  EXPECT_TRUE(same(out[4], Array::from<int32_t>({4, 4}, {1, 2, 1, 2, 3, 4, 3, 4, 1, 2, 1, 2, 3, 4, 3, 4})));
  EXPECT_TRUE(same(out[5], Array::from<int32_t>({4, 2}, {1, 2, 1, 2, 3, 4, 3, 4})));
  EXPECT_TRUE(same(out[6], Array::from<int32_t>({2, 2}, {3, 4, 1, 2})));
  EXPECT_TRUE(same(out[7], Array::from<int32_t>({2, 2}, {2, 1, 4, 3})));
  EXPECT_NE(error_text([&] { interpret(graph, {counted(i32, {3, 2})}); }), "no error");  // 3 rows have no halves
}

TEST(Indexing, RollByAnyShift) {
  const Value x = in("x", "i64[n]");
  for (const int64_t shift : {-10, -3, 0, 2, 8, 17}) {
    const Graph graph({x}, {{"y", roll(x, shift, 0)}});
    for (const int64_t n : {0, 1, 7, 8, 9}) {
      const Array data = counted(i64, {n});
      const Array y = interpret(graph, {data})[0];
      for (int64_t i = 0; i < n; ++i) {
        ASSERT_EQ(y.at(((i + shift) % n + n) % n), data.at(i)) << shift << " " << n;
      }
    }
  }
}

TEST(Indexing, DiagonalsOfAnyTwoAxes) {
  const Value x = in("x", "i32[a, b, c]");
  for (const int64_t offset : {-3, -1, 0, 2}) {
    const Graph graph({x}, {{"y", diagonal(x, 0, 2, offset)}, {"z", diagonal(x, 2, 0, -offset)}});
    for (const auto& [a, c] : std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {3, 5}, {5, 3}, {0, 2}}) {
      const Array data = counted(i32, {a, 2, c});
      const auto out = interpret(graph, {data});
      std::vector<int32_t> expected;
      for (int64_t j = 0; j < 2; ++j) {
        for (int64_t i = 0; i < a; ++i) {
          if (i + offset >= 0 && i + offset < c) {
            expected.push_back(static_cast<int32_t>(data.at((i * 2 + j) * c + i + offset)));
          }
        }
      }
      const Array wanted = Array::from<int32_t>({2, static_cast<int64_t>(expected.size()) / 2}, expected);
      EXPECT_TRUE(same(out[0], wanted)) << offset;
      EXPECT_TRUE(same(out[1], wanted)) << offset;
    }
  }
}

TEST(ScatterGradient, EveryOperationWithPlacesWrittenTwice) {
  std::mt19937_64 rng(4);
  const Value x = in("x", "f64[n, 2]");
  const Value u = in("u", "f64[k, 2]");
  const Value i = in("i", "i64[k]");
  for (const std::string& op : kOps) {
    const Value y = scatter(x, u, {i}, {.axes = {0}}, op);
    EXPECT_TRUE(kind_gradient_matches<Scatter>(
        y.node(),
        {random_array(f64, {4, 2}, rng), random_array(f64, {5, 2}, rng), Array::from<int64_t>({5}, {3, 0, -1, 1, 0})}))
        << op;
    EXPECT_TRUE(kind_gradient_matches<Scatter>(
        y.node(), {random_array(f64, {1, 2}, rng), random_array(f64, {0, 2}, rng), Array(i64, {0})}))
        << op;
  }
  // One zero, two zeros, none in a place.
  const Value product = scatter(x, u, {i}, {.axes = {0}}, "mul");
  EXPECT_TRUE(kind_gradient_matches<Scatter>(product.node(), {Array::from<double>({3, 2}, {0, 2, 3, 0, 5, 6}),
                                                              Array::from<double>({4, 2}, {2, 0, 0, 3, 0, 4, 7, 0}),
                                                              Array::from<int64_t>({4}, {0, 1, 1, 2})}));
}

TEST(ScatterGradient, BatchAxes) {
  std::mt19937_64 rng(5);
  const Value x = in("x", "f64[n, batch]");
  const Value u = in("u", "f64[batch, k]");
  const Value i = in("i", "i64[batch, k]");
  for (const std::string& op : kOps) {
    const Value y = scatter(x, u, {i}, {.axes = {0}, .x_batch = {1}, .index_batch = {0}}, op);
    EXPECT_TRUE(kind_gradient_matches<Scatter>(
        y.node(), {random_array(f64, {4, 3}, rng), random_array(f64, {3, 6}, rng), random_positions({3, 6}, 4, rng)}))
        << op;
  }
}

}  // namespace
}  // namespace tenon::indexing_test
