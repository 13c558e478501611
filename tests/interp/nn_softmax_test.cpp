// Softmax and its relatives against sums in double.
#include <cmath>
#include <limits>

#include "ir/node.h"
#include "support/arrays.h"
#include "tenon/interpreter.h"
#include "tenon/nn.h"

namespace tenon::nn_softmax_test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

Value in(const char* name, const char* text) { return input(name, Shape::parse(text)); }
std::string body_name(const Value& value) { return value.node().as<Call>()->body.name(); }

/// Call f(first element, stride) for each line of `dims` along `axis`.
template <class F>
void for_each_line(const std::vector<int64_t>& dims, size_t axis, F&& f) {
  int64_t inner = 1;
  int64_t outer = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    (i < axis ? outer : inner) *= i == axis ? 1 : dims[i];
  }
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      f(o * dims[axis] * inner + i, inner);
    }
  }
}

/// log(sum(exp)) with long doubles, whose exponent range needs no shift below 1e4.
double naive_logsumexp(const Array& x, int64_t first, int64_t stride, int64_t n) {
  long double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    sum += std::exp(static_cast<long double>(x.at(first + i * stride)));
  }
  return static_cast<double>(std::log(sum));
}

TEST(Softmax, AlongAnyAxisAtAnySize) {
  std::mt19937_64 rng(1);
  for (const int axis : {0, 1, -1}) {
    const Value x = in("x", "f32[a, b, c]");
    const Graph graph(
        {x}, {{"softmax", softmax(x, axis)}, {"log", log_softmax(x, axis)}, {"lse", logsumexp(x, {axis}, true)}});
    for (const int64_t n : {0, 1, 7, 8, 9, 100}) {
      std::vector<int64_t> dims{3, 2, 5};
      const size_t k = axis < 0 ? 2 : static_cast<size_t>(axis);
      dims[k] = n;
      const Array data = random_array(f32, dims, rng, -30, 30);
      Array soft(f64, dims);
      Array logs(f64, dims);
      std::vector<int64_t> reduced = dims;
      reduced[k] = 1;
      Array sums(f64, reduced);
      size_t line = 0;
      for_each_line(dims, k, [&](int64_t first, int64_t stride) {
        const double lse = naive_logsumexp(data, first, stride, n);
        sums.mutable_values<double>()[line++] = lse;
        for (int64_t i = 0; i < n; ++i) {
          const int64_t at = first + i * stride;
          soft.mutable_values<double>()[static_cast<size_t>(at)] = std::exp(data.at(at) - lse);
          logs.mutable_values<double>()[static_cast<size_t>(at)] = data.at(at) - lse;
        }
      });
      const auto out = interpret(graph, {data});
      EXPECT_TRUE(close(out[0], soft.cast(f32), 1e-5)) << axis << " " << n;
      EXPECT_TRUE(close(out[1], logs.cast(f32), 1e-6, 1e-5)) << axis << " " << n;
      EXPECT_TRUE(close(out[2], sums.cast(f32), 1e-6, 1e-6)) << axis << " " << n;
      EXPECT_TRUE(close(interpret(graph, {data}, {.reference = true})[0], soft, 1e-12)) << axis << " " << n;
    }
  }
}

TEST(Softmax, LargeLogitsNeitherOverflowNorVanish) {
  const Value x = in("x", "f32[row, column]");
  const Graph graph({x}, {{"softmax", softmax(x)}, {"log", log_softmax(x)}, {"lse", logsumexp(x, {-1})}});
  const Array data = Array::from<float>({3, 3}, {1e4, 1e4, -1e4, -1e4, -1e4f, -1e4f, 3e38f, -3e38f, 0});
  const auto out = interpret(graph, {data});
  const auto third = static_cast<float>(1.0 / 3);
  EXPECT_TRUE(close(out[0], Array::from<float>({3, 3}, {0.5, 0.5, 0, third, third, third, 1, 0, 0}), 1e-6));
  EXPECT_NEAR(out[1].at(0), -std::log(2.0), 1e-6);
  EXPECT_EQ(out[1].at(2), static_cast<float>(-2e4 - std::log(2.0)));
  EXPECT_NEAR(out[1].at(3), -std::log(3.0), 1e-6);
  EXPECT_NEAR(out[2].at(0), 1e4 + std::log(2.0), 1e-3);
  EXPECT_EQ(out[2].at(2), 3e38f);
}

TEST(Softmax, InfinitiesAndNaN) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Value x = in("x", "f32[row, column]");
  const Graph graph({x}, {{"softmax", softmax(x)}, {"lse", logsumexp(x, {1})}});
  const auto out = interpret(graph, {Array::from<float>({4, 2}, {-inf, 0, -inf, -inf, inf, 0, nan, 0})});
  EXPECT_EQ(out[0].at(0), 0);
  EXPECT_EQ(out[0].at(1), 1);
  EXPECT_TRUE(std::isnan(out[0].at(2)));
  EXPECT_EQ(out[1].at(0), 0);
  EXPECT_EQ(out[1].at(1), -kInf);
  EXPECT_EQ(out[1].at(2), kInf);
  EXPECT_TRUE(std::isnan(out[1].at(3)));
  EXPECT_EQ(interpret(graph, {Array(f32, {1, 0})})[1].at(0), -kInf);
}

TEST(Softmax, HalfTypesRoundOnce) {
  for (const Dtype dtype : {f16, bf16}) {
    const Value x = input("x", shape(dtype, "n"));
    const Graph graph({x}, {{"y", softmax(x)}, {"l1", reduce_l1(x)}, {"l2", reduce_l2(x)}});
    std::mt19937_64 rng(2);
    const Array data = random_array(dtype, {1000}, rng);
    const auto exact = interpret(graph, {data}, {.reference = true});
    const auto out = interpret(graph, {data});
    for (size_t i = 0; i < out.size(); ++i) {
      EXPECT_TRUE(close(out[i], exact[i].cast(dtype), dtype == f16 ? 1e-3 : 8e-3)) << name(dtype) << " " << i;
    }
  }
}

TEST(NormReductions, AgainstLoops) {
  std::mt19937_64 rng(3);
  const Value x = in("x", "f32[row, column]");
  const Graph graph({x}, {{"l1", reduce_l1(x, {1})},
                          {"l2", reduce_l2(x, {-1})},
                          {"squares", reduce_sum_square(x, {1})},
                          {"log", reduce_log_sum(x, {1})},
                          {"biased", variance(x, {1}, false, 0)},
                          {"unbiased", variance(x, {1})},
                          {"deviation", standard_deviation(x, {1}, false, 1)}});
  for (const int64_t n : {0, 1, 2, 7, 8, 9, 100}) {
    // A large mean: the difference of two sums of squares would have no digit left in f32.
    const Array data = random_array(f32, {2, n}, rng, 9999, 10001);
    std::vector<Array> expected(7, Array(f64, {2}));
    for (int64_t row = 0; row < 2; ++row) {
      double sum = 0;
      double squares = 0;
      for (int64_t i = 0; i < n; ++i) {
        sum += data.at(row * n + i);
        squares += data.at(row * n + i) * data.at(row * n + i);
      }
      const auto count = static_cast<double>(n);
      double spread = 0;
      for (int64_t i = 0; i < n; ++i) {
        spread += std::pow(data.at(row * n + i) - sum / count, 2);
      }
      const double nan = std::nan("");
      const double unbiased = n > 1 ? spread / (count - 1) : nan;
      const double values[] = {sum,      std::sqrt(squares), squares, std::log(sum), n > 0 ? spread / count : nan,
                               unbiased, std::sqrt(unbiased)};
      for (size_t k = 0; k < expected.size(); ++k) {
        expected[k].mutable_values<double>()[static_cast<size_t>(row)] = values[k];
      }
    }
    const auto out = interpret(graph, {data});
    for (size_t k = 0; k < expected.size(); ++k) {
      EXPECT_TRUE(close(out[k], expected[k].cast(f32), k < 4 ? 1e-6 : 1e-3)) << k << " " << n;
    }
  }
}

TEST(NormReductions, ShapesAndAxes) {
  const Value x = in("x", "f32[batch, seq, 4]");
  EXPECT_EQ(reduce_l2(x).shape().to_string(), "f32[]");
  EXPECT_EQ(reduce_l2(x, {0, 2}, true).shape().to_string(), "f32[1, seq, 1]");
  EXPECT_EQ(logsumexp(x, {-1, 0}).shape().to_string(), "f32[seq]");
  const Value i = in("i", "i32[n]");
  EXPECT_EQ(interpret(Graph({i}, {{"y", reduce_l1(i)}}), {Array::from<int32_t>({3}, {-1, 2, -3})})[0].at(0), 6);
}

TEST(Softmax, IsACompositeOfItsName) {
  const Value x = in("x", "f32[batch, seq]");
  EXPECT_EQ(body_name(softmax(x)), "softmax");
  EXPECT_EQ(body_name(log_softmax(x)), "log_softmax");
  EXPECT_EQ(body_name(logsumexp(x)), "logsumexp");
  EXPECT_EQ(body_name(variance(x)), "variance");
  EXPECT_EQ(softmax(x).shape(), x.shape());
  EXPECT_EQ(softmax(x).node().as<Call>()->body, softmax(in("y", "f32[batch, seq]")).node().as<Call>()->body);
}

TEST(Composites, GiveSeveralResults) {
  const Value x = in("x", "f32[n]");
  const auto build = [](const std::vector<Value>& v) -> std::vector<Output> {
    return {{"twice", v[0] + v[0]}, {"sum", reduce_sum(v[0])}};
  };
  const std::vector<Value> results = composites("both", {x}, build);
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(body_name(results[1]), "both");
  const auto out = interpret(Graph({x}, {{"a", results[0]}, {"b", results[1]}}), {Array::from<float>({2}, {1, 2})});
  EXPECT_TRUE(same(out[0], Array::from<float>({2}, {2, 4})));
  EXPECT_EQ(out[1].at(0), 3);
  EXPECT_EQ(error_text([&] { composites("both", {x, {}}, build); }), "both: operand 1 is an empty Value");
  EXPECT_EQ(error_text([&] {
              composites("bad", {x}, [](const auto& v) { return std::vector<Output>{{"y", transpose(v[0], {1})}}; });
            }),
            "transpose: axis 1 is out of range for rank 1: f32[n]\n  `x0`: f32[n]\n  in bad");
}

TEST(Softmax, ErrorsNameTheComposite) {
  EXPECT_EQ(error_text([] { softmax(in("x", "i32[n]")); }), "softmax: `x` is i32, must be a float\n  `x`: i32[n]");
  EXPECT_NE(error_text([] { softmax(in("x", "f32[n]"), 1); }).find("softmax: axis 1"), std::string::npos);
  EXPECT_EQ(error_text([] { logsumexp({}); }), "logsumexp: `x` is an empty Value");
  EXPECT_NE(error_text([] { variance(in("x", "i32[n]")); }).find("must be a float"), std::string::npos);
}

}  // namespace
}  // namespace tenon::nn_softmax_test
