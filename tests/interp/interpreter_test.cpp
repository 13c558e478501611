// The interpreter against independent loops, at sizes 0, 1, around 8 and larger, and behaviour others get wrong.
#include "tenon/interpreter.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "support/arrays.h"
#include "tenon/ops.h"

namespace tenon::interpreter_test {
namespace {

const std::vector<int64_t> kSizes = {0, 1, 7, 8, 9, 1000};

Value in(const char* name, const char* text) { return input(name, Shape::parse(text)); }

TEST(Interpreter, AddOfEveryDtypeAtEverySize) {
  std::mt19937_64 rng(1);
  for (const Dtype dtype : all_dtypes()) {
    if (dtype == boolean) {
      continue;
    }
    const Value a = input("a", shape(dtype, "n"));
    const Value b = input("b", shape(dtype, "n"));
    const Graph graph({a, b}, {{"c", a + b}});
    for (const int64_t n : kSizes) {
      const Array x = random_array(dtype, {n}, rng);
      const Array y = random_array(dtype, {n}, rng);
      Array expected(f64, {n});
      for (int64_t i = 0; i < n; ++i) {
        expected.mutable_values<double>()[static_cast<size_t>(i)] = x.at(i) + y.at(i);
      }
      EXPECT_TRUE(same(interpret(graph, {x, y})[0], expected.cast(dtype))) << name(dtype) << " " << n;
    }
  }
}

TEST(Interpreter, IntegersWrapAndDivideByZeroWithoutTraps) {
  const Value a = in("a", "i8[n]");
  const Value b = in("b", "i8[n]");
  const Graph graph({a, b}, {{"sum", a + b},
                             {"quotient", a / b},
                             {"remainder", rem(a, b)},
                             {"modulo", mod(a, b)},
                             {"power", pow(a, b)},
                             {"left", shl(a, b)},
                             {"right", shr(a, b)},
                             {"floor", floor_div(a, b)}});
  const auto out = interpret(
      graph, {Array::from<int8_t>({5}, {127, -128, 5, -7, -7}), Array::from<int8_t>({5}, {1, -1, 0, 3, 100})});
  EXPECT_TRUE(same(out[0], Array::from<int8_t>({5}, {-128, 127, 5, -4, 93})));
  EXPECT_TRUE(same(out[1], Array::from<int8_t>({5}, {127, -128, 0, -2, 0})));
  EXPECT_TRUE(same(out[2], Array::from<int8_t>({5}, {0, 0, 0, -1, -7})));
  EXPECT_TRUE(same(out[3], Array::from<int8_t>({5}, {0, 0, 0, 2, 93})));
  EXPECT_EQ(out[4].at(3), -343 + 256);
  EXPECT_TRUE(same(out[5], Array::from<int8_t>({5}, {-2, 0, 5, -56, 0})));
  EXPECT_TRUE(same(out[6], Array::from<int8_t>({5}, {63, -1, 5, -1, -1})));
  EXPECT_TRUE(same(out[7], Array::from<int8_t>({5}, {127, -128, 0, -3, -1})));
}

TEST(Interpreter, NaNAndInfinityAreKept) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  const Value x = in("x", "f32[n]");
  const Graph graph(
      {x},
      {{"max", reduce_max(x)}, {"sum", reduce_sum(x)}, {"relu", relu(x)}, {"arg", argmax(x)}, {"low", reduce_min(x)}});
  auto out = interpret(graph, {Array::from<float>({3}, {1, nan, inf})});
  EXPECT_TRUE(std::isnan(out[0].at(0)));
  EXPECT_TRUE(std::isnan(out[1].at(0)));
  EXPECT_TRUE(std::isnan(out[2].at(1)));
  EXPECT_EQ(out[3].at(0), 1);
  out = interpret(graph, {Array::from<float>({2}, {-inf, 3})});
  EXPECT_EQ(out[0].at(0), 3);
  EXPECT_EQ(out[4].at(0), -inf);
}

TEST(Interpreter, ReductionsOverAnyAxesOfAnySize) {
  std::mt19937_64 rng(2);
  const Value x = in("x", "f32[a, b, c]");
  for (const Axes& axes : std::vector<Axes>{{0}, {1}, {2}, {0, 2}, {0, 1, 2}}) {
    const Graph graph({x}, {{"sum", reduce_sum(x, axes, true)}, {"max", reduce_max(x, axes, true)}});
    for (const int64_t n : {0, 1, 7, 9}) {
      const std::vector<int64_t> dims{3, n, 5};
      const Array data = random_array(f32, dims, rng);
      std::vector<int64_t> out_dims = dims;
      for (const int axis : axes) {
        out_dims[static_cast<size_t>(axis)] = 1;
      }
      Array sum(f64, out_dims);
      Array max = Array::full(f32, out_dims, -std::numeric_limits<double>::infinity());
      for (int64_t i = 0; i < data.size(); ++i) {
        const int64_t index[] = {i / (n * 5), i / 5 % n, i % 5};
        int64_t to = 0;
        for (size_t k = 0; k < 3; ++k) {
          to = to * out_dims[k] + (out_dims[k] == 1 && dims[k] != 1 ? 0 : index[k]);
        }
        sum.mutable_values<double>()[static_cast<size_t>(to)] += data.at(i);
        float& best = max.mutable_values<float>()[static_cast<size_t>(to)];
        best = std::max(best, static_cast<float>(data.at(i)));
      }
      const auto out = interpret(graph, {data});
      EXPECT_TRUE(close(out[0], sum.cast(f32), 1e-6, 1e-6)) << n;
      EXPECT_TRUE(same(out[1], max)) << n;
    }
  }
}

TEST(Interpreter, TwoDynamicFreeAxesInOneProduct) {
  std::mt19937_64 rng(3);
  const Value x = in("x", "f32[batch, seq, h]");
  const Value w = in("w", "f32[h, o]");
  const Graph graph({x, w}, {{"y", matmul(x, w)}});
  for (const int64_t n : {0, 1, 7, 8, 9}) {
    const Array a = random_array(f32, {2, n, 5}, rng);
    const Array b = random_array(f32, {5, 3}, rng);
    Array expected(f64, {2, n, 3});
    for (int64_t i = 0; i < 2 * n; ++i) {
      for (int64_t j = 0; j < 3; ++j) {
        double& sum = expected.mutable_values<double>()[static_cast<size_t>(i * 3 + j)];
        for (int64_t k = 0; k < 5; ++k) {
          sum += a.at(i * 5 + k) * b.at(k * 3 + j);
        }
      }
    }
    EXPECT_TRUE(close(interpret(graph, {a, b})[0], expected.cast(f32), 1e-6, 1e-6));
  }
}

TEST(Interpreter, ADynamicAxisMeetingAStaticOneIsCheckedWhenBound) {
  const Value x = in("x", "f32[batch, n]");
  const Value w = in("w", "f32[64, 2]");
  const Graph graph({x, w}, {{"y", matmul(x, w)}});
  EXPECT_EQ(interpret(graph, {Array(f32, {3, 64}), Array(f32, {64, 2})})[0].dims(), (std::vector<int64_t>{3, 2}));
  const std::string error = error_text([&] { interpret(graph, {Array(f32, {3, 63}), Array(f32, {64, 2})}); });
  EXPECT_NE(error.find("`n` is 63, must be 64"), std::string::npos) << error;
  EXPECT_NE(error.find("contract"), std::string::npos) << error;
}

TEST(Interpreter, AnAxisThatIsOneAtRunTimeBroadcasts) {
  const Value x = in("x", "f32[batch, 3]");
  const Value b = in("b", "f32[-1, 3]");
  const Graph graph({x, b}, {{"y", x + b}});
  const Array ones = Array::full(f32, {4, 3}, 1);
  EXPECT_TRUE(same(interpret(graph, {ones, Array::full(f32, {1, 3}, 2)})[0], Array::full(f32, {4, 3}, 3)));
  EXPECT_TRUE(same(interpret(graph, {ones, Array::full(f32, {4, 3}, 2)})[0], Array::full(f32, {4, 3}, 3)));
  const std::string error = error_text([&] { interpret(graph, {ones, Array::full(f32, {2, 3}, 2)}); });
  EXPECT_NE(error.find("b.0"), std::string::npos) << error;
  EXPECT_NE(error.find("2"), std::string::npos) << error;

  const Value n = in("n", "f32[n]");
  const Graph against_static({n}, {{"y", broadcast_to(n, {5})}});
  EXPECT_EQ(interpret(against_static, {Array(f32, {1})})[0].size(), 5);
  EXPECT_EQ(interpret(against_static, {Array(f32, {5})})[0].size(), 5);
  EXPECT_NE(error_text([&] { interpret(against_static, {Array(f32, {3})}); }), "no error");
}

TEST(Interpreter, ConcatPadAndSliceOnDynamicAxes) {
  const Value x = in("x", "i32[n]");
  const Value y = in("y", "i32[m]");
  const Value joined = concat({x, y}, 0);
  const Graph graph({x, y}, {{"joined", joined},
                             {"padded", pad(joined, {1}, {2}, "constant", 9)},
                             {"edge", pad(x, {2}, {1}, "edge")},
                             {"tail", slice_axis(joined, 0, 1)},
                             {"backwards", slice_axis(joined, 0, -1, {}, -2)},
                             {"last", slice_axis(joined, 0, -1)}});
  const auto out = interpret(graph, {Array::from<int32_t>({3}, {1, 2, 3}), Array::from<int32_t>({2}, {4, 5})});
  EXPECT_TRUE(same(out[0], Array::from<int32_t>({5}, {1, 2, 3, 4, 5})));
  EXPECT_TRUE(same(out[1], Array::from<int32_t>({8}, {9, 1, 2, 3, 4, 5, 9, 9})));
  EXPECT_TRUE(same(out[2], Array::from<int32_t>({6}, {1, 1, 1, 2, 3, 3})));
  EXPECT_TRUE(same(out[3], Array::from<int32_t>({4}, {2, 3, 4, 5})));
  EXPECT_TRUE(same(out[4], Array::from<int32_t>({3}, {5, 3, 1})));
  EXPECT_TRUE(same(out[5], Array::from<int32_t>({1}, {5})));
  const auto shorter = interpret(graph, {Array::from<int32_t>({1}, {1}), Array(i32, {0})});
  EXPECT_TRUE(same(shorter[3], Array(i32, {0})));
  EXPECT_TRUE(same(shorter[4], Array::from<int32_t>({1}, {1})));
}

TEST(Interpreter, PadModes) {
  const Value x = in("x", "i32[n]");
  const Graph graph({x}, {{"reflect", pad(x, {2}, {1}, "reflect")}, {"wrap", pad(x, {2}, {1}, "wrap")}});
  const auto out = interpret(graph, {Array::from<int32_t>({3}, {1, 2, 3})});
  EXPECT_TRUE(same(out[0], Array::from<int32_t>({6}, {3, 2, 1, 2, 3, 2})));
  EXPECT_TRUE(same(out[1], Array::from<int32_t>({6}, {2, 3, 1, 2, 3, 1})));
  EXPECT_NE(error_text([&] { interpret(graph, {Array(i32, {2})}); }).find("`n` is 2"), std::string::npos);
}

TEST(Interpreter, TakeCountsFromTheEndAndChecksPositions) {
  const Value x = in("x", "f32[n, 2]");
  const Value i = in("i", "i64[k]");
  const Place place("/embed/Gather");
  const Graph graph({x, i}, {{"rows", take(x, i, 0)}, {"columns", take(x, i, 1)}});
  const Array data = Array::from<float>({2, 2}, {1, 2, 3, 4});
  const auto out = interpret(graph, {data, Array::from<int64_t>({3}, {0, -1, 1})});
  EXPECT_TRUE(same(out[0], Array::from<float>({3, 2}, {1, 2, 3, 4, 3, 4})));
  EXPECT_TRUE(same(out[1], Array::from<float>({2, 3}, {1, 2, 2, 3, 4, 4})));
  EXPECT_EQ(error_text([&] { interpret(graph, {data, Array::from<int64_t>({1}, {2})}); }),
            "gather: position 2 is out of range for axis 0 of size 2\n  at node \"/embed/Gather\"");
}

TEST(Interpreter, UpdateWritesThroughViews) {
  const Value cache = in("cache", "f32[total, 2]");
  const Value fresh = in("fresh", "f32[seq, 2]");
  const Value written = update_slice(cache, fresh, {Extent::name("past"), 0});
  const Graph graph("append", {cache, fresh}, {{"cache", written, 0}});
  const auto out = interpret(graph, {Array(f32, {4, 2}), Array::full(f32, {2, 2}, 5)}, {.bindings = {{"past", 1}}});
  EXPECT_TRUE(same(out[0], Array::from<float>({4, 2}, {0, 0, 5, 5, 5, 5, 0, 0})));
  const std::string error =
      error_text([&] { interpret(graph, {Array(f32, {4, 2}), Array(f32, {2, 2})}, {.bindings = {{"past", 3}}}); });
  EXPECT_NE(error.find("update"), std::string::npos) << error;
  EXPECT_NE(error_text([&] { interpret(graph, {Array(f32, {4, 2}), Array(f32, {2, 2})}); }).find("past"),
            std::string::npos);
}

TEST(Interpreter, CallsRunTheirBody) {
  const Value x = in("x", "f32[batch, seq]");
  const Value y = composite("softmax", {x}, [](const std::vector<Value>& v) {
    const Value e = exp(v[0] - reduce_max(v[0], {-1}, true));
    return e / reduce_sum(e, {-1}, true);
  });
  const Graph graph({x}, {{"y", y}});
  const Array out = interpret(graph, {Array::from<float>({2, 2}, {1000, 1000, 0, std::log(3.0f)})})[0];
  EXPECT_TRUE(close(out, Array::from<float>({2, 2}, {0.5, 0.5, 0.25, 0.75}), 1e-6));
}

TEST(Interpreter, TheReferenceEvaluatesInF64) {
  const Value x = in("x", "f16[n]");
  const Graph graph({x}, {{"y", exp(x) * 3.0}, {"rounded", cast(cast(x, f32) + 1e-9, f16)}});
  const Array data = Array::from<float>({1}, {0.5}).cast(f16);
  const auto exact = interpret(graph, {data}, {.reference = true});
  EXPECT_EQ(exact[0].dtype(), f64);
  EXPECT_DOUBLE_EQ(exact[0].at(0), std::exp(0.5) * 3.0);
  EXPECT_DOUBLE_EQ(exact[1].at(0), 0.5 + 1e-9);
  EXPECT_EQ(interpret(graph, {data})[0].dtype(), f16);
}

TEST(Interpreter, ExtentsAreValues) {
  const Value x = in("x", "f32[batch, seq]");
  const Graph graph({x}, {{"size", extent_value(x.extent(0) * x.extent(1) + 1)},
                          {"mean", reduce_mean(x)},
                          {"rows", iota(shape(i32, "batch", 2), 0, 10, 5)}});
  const auto out = interpret(graph, {Array::full(f32, {2, 3}, 4)});
  EXPECT_EQ(out[0].at(0), 7);
  EXPECT_EQ(out[1].at(0), 4);
  EXPECT_TRUE(same(out[2], Array::from<int32_t>({2, 2}, {10, 10, 15, 15})));
}

TEST(Interpreter, AMeanOfManyHalvesIsNoOverflow) {
  const Value x = in("x", "f16[n]");
  const Graph graph({x}, {{"mean", reduce_mean(x)}});
  EXPECT_EQ(interpret(graph, {Array::full(f16, {70'000}, 1)})[0].at(0), 1);
}

/// x[begin:end:step] of 0, 1, ..., n-1, as Python defines it.
std::vector<int32_t> python_slice(int64_t n, int64_t begin, std::optional<int64_t> end, int64_t step) {
  const auto clamp = [&](int64_t i) {
    const int64_t from_start = i < 0 ? i + n : i;
    return step > 0 ? std::clamp<int64_t>(from_start, 0, n) : std::clamp<int64_t>(from_start, -1, n - 1);
  };
  const int64_t stop = end ? clamp(*end) : (step > 0 ? n : -1);
  std::vector<int32_t> picked;
  for (int64_t i = clamp(begin); step > 0 ? i < stop : i > stop; i += step) {
    picked.push_back(static_cast<int32_t>(i));
  }
  return picked;
}

TEST(Interpreter, SlicesAsPythonDoesAtEverySize) {
  const Value x = in("x", "i32[n]");
  for (const int64_t begin : {-100, -4, -1, 0, 1, 3, 100}) {
    for (const std::optional<int64_t> end : {std::optional<int64_t>(), {-100}, {-2}, {-1}, {0}, {2}, {5}, {100}}) {
      for (const int64_t step : {-3, -2, -1, 1, 2, 3}) {
        const auto until = end ? std::optional<Extent>(*end) : std::nullopt;
        const Graph dynamic({x}, {{"y", slice_axis(x, 0, begin, until, step)}});
        for (const int64_t n : {0, 1, 2, 3, 5, 8}) {
          std::vector<int32_t> counting(static_cast<size_t>(n));
          for (size_t i = 0; i < counting.size(); ++i) {
            counting[i] = static_cast<int32_t>(i);
          }
          const std::vector<int32_t> expected = python_slice(n, begin, end, step);
          const Array wanted = Array::from<int32_t>({static_cast<int64_t>(expected.size())}, expected);
          ASSERT_TRUE(same(interpret(dynamic, {Array::from<int32_t>({n}, counting)})[0], wanted))
              << n << ": " << begin << " " << end.value_or(-999) << " " << step;
        }
      }
    }
  }
}

TEST(Interpreter, SlicesOfSlicesStaySimple) {
  Value y = in("x", "f32[n]");
  for (int i = 0; i < 30; ++i) {
    y = slice_axis(slice_axis(y, 0, 1), 0, 0, Extent(-1));
  }
  EXPECT_EQ(y.shape().to_string(), "f32[max(n-60, 0)]");
  Value z = in("x", "f32[n]");
  for (int i = 0; i < 30; ++i) {
    z = slice_axis(concat({z, z}, 0), 0, -10);
  }
  EXPECT_LT(z.shape().to_string().size(), 40u) << z.shape().to_string();
}

TEST(Interpreter, AnEmptyAxisHidesNoMistake) {
  const Value x = in("x", "f32[n, m]");
  const Graph graph({x}, {{"y", squeeze(x, {0})}});
  EXPECT_EQ(interpret(graph, {Array(f32, {1, 0})})[0].size(), 0);
  const std::string error = error_text([&] { interpret(graph, {Array(f32, {5, 0})}); });
  EXPECT_NE(error.find("`n` is 5, must be 1"), std::string::npos) << error;
}

TEST(Interpreter, WhatCannotFitInMemoryIsRefused) {
  const Value x = in("x", "f32[n]");
  const Graph graph({x}, {{"y", reduce_sum(broadcast_to(x, {"k", "n"}))}});
  const std::string error =
      error_text([&] { interpret(graph, {Array(f32, {1000})}, {.bindings = {{"k", int64_t{1} << 40}}}); });
  EXPECT_NE(error.find("memory"), std::string::npos) << error;
}

TEST(Interpreter, CastsRoundOnce) {
  const Value x = in("x", "f64[n]");
  const Graph graph({x}, {{"y", cast(x, f16)}});
  const Array out = interpret(graph, {Array::from<double>({1}, {1.00048828125 + 1e-12})})[0];
  EXPECT_EQ(out.at(0), 1.0009765625);
}

TEST(Interpreter, WrongInputsAreNamed) {
  const Value a = in("a", "f32[batch, 4]");
  const Value b = in("b", "f32[batch]");
  const Graph graph({a, b}, {{"y", reduce_sum(a, {1}) + b}});
  EXPECT_EQ(error_text([&] { interpret(graph, {Array(f32, {2, 4})}); }), "graph `main` takes 2 inputs, not 1");
  const std::string conflict = error_text([&] { interpret(graph, {Array(f32, {32, 4}), Array(f32, {64})}); });
  EXPECT_EQ(conflict, "axis `batch`: input `a` has 32, input `b` has 64");
}

}  // namespace
}  // namespace tenon::interpreter_test
