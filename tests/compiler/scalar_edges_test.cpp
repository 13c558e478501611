// Scalar functions where they are hardest, compiled and interpreted, against libm.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <random>

#include "support/arrays.h"
#include "tenon/compile.h"
#include "tenon/interpreter.h"
#include "tenon/ops.h"

namespace tenon::scalar_edges_test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// x in dtype, as often as fills vectors and their rest.
Array repeated(Dtype dtype, const std::vector<double>& x) {
  constexpr int64_t least = 37;
  std::vector<double> values;
  while (std::ssize(values) < least) {
    values.insert(values.end(), x.begin(), x.end());
  }
  return Array::from<double>({std::ssize(values)}, values).cast(dtype);
}

/// What the interpreter and machine code make of it.
std::vector<Array> both_ways(const std::function<Value(const Value&)>& function, const Array& x) {
  const Value in = input("x", shape(x.dtype(), "n"));
  const Graph graph({in}, {{"y", function(in)}});
  return {interpret(graph, {x})[0], compile(graph).run({x})[0]};
}

TEST(ScalarEdges, NothingIsTheCoshOfLessThanOne) {
  const std::map<Dtype, std::vector<double>> samples = {
      {f32, {-1e4, -3e3, -1e9, -1e20, -1, 0, 0.99, -3e38, -kInfinity, kNan}},
      {f64, {-1e4, -1e9, -1e200, -1, 0.99, -kInfinity, kNan}},
      {f16, {-300, -1e4, -65504, -1, 0.5, -kInfinity, kNan}},
      {bf16, {-300, -1e4, -1e30, -kInfinity, kNan}}};
  for (const auto& [dtype, x] : samples) {
    for (const Array& y : both_ways([](const Value& v) { return acosh(v); }, repeated(dtype, x))) {
      for (int64_t i = 0; i < y.size(); ++i) {
        EXPECT_TRUE(std::isnan(y.at(i))) << name(dtype) << " " << x[static_cast<size_t>(i) % x.size()] << ": "
                                         << y.at(i);
      }
    }
  }
  const std::vector<double> inside = {1, 1 + 1e-6, 1.5, 3, 1e3, 1e8, 1e10, 1e30, kInfinity};
  for (const Array& y : both_ways([](const Value& v) { return acosh(v); }, repeated(f64, inside))) {
    for (int64_t i = 0; i < y.size(); ++i) {
      const double wanted = std::acosh(inside[static_cast<size_t>(i) % inside.size()]);
      EXPECT_TRUE(y.at(i) == wanted || std::fabs(y.at(i) - wanted) <= 1e-14 * wanted) << y.at(i) << " " << wanted;
    }
  }
}

TEST(ScalarEdges, SiluVanishesWhereItsValueDoes) {
  const std::vector<double> x = {-90.5, -88, -80, -10, -1e-3, -0.0, 0.0, 1e-3, 5, 90.5, 1e30, kInfinity};
  for (const Array& y : both_ways([](const Value& v) { return silu(v); }, repeated(f32, x))) {
    for (int64_t i = 0; i < y.size(); ++i) {
      const double at = static_cast<double>(static_cast<float>(x[static_cast<size_t>(i) % x.size()]));
      const double wanted = at == kInfinity ? at : at / (1 + std::exp(-at));
      EXPECT_TRUE(y.at(i) == wanted || std::fabs(y.at(i) - wanted) <= 2e-6 * std::fabs(wanted))
          << at << ": " << y.at(i);
      EXPECT_EQ(std::signbit(y.at(i)), std::signbit(wanted)) << at;
    }
  }
}

TEST(ScalarEdges, ThresholdedReluIsZeroWhereItIsNotAbove) {
  const std::vector<double> x = {kNan, -kInfinity, -3, 0.5, 1, 1.5, kInfinity};
  const std::vector<double> wanted = {0, 0, 0, 0, 0, 1.5, kInfinity};
  for (const Array& y : both_ways([](const Value& v) { return thresholded_relu(v, 1); }, repeated(f32, x))) {
    for (int64_t i = 0; i < y.size(); ++i) {
      const size_t k = static_cast<size_t>(i) % x.size();
      EXPECT_EQ(y.at(i), wanted[k]) << x[k];
      EXPECT_FALSE(std::signbit(y.at(i))) << x[k];
    }
  }
}

TEST(ScalarEdges, SeluHasTheConstantsOfItsDtype) {
  const std::vector<double> x = {-3, -0.5, 0.25, 2};
  for (const Array& y : both_ways([](const Value& v) { return selu(v); }, repeated(f64, x))) {
    for (int64_t i = 0; i < y.size(); ++i) {
      const double at = x[static_cast<size_t>(i) % x.size()];
      const double wanted = 1.0507009873554804934 * (at < 0 ? 1.6732632423543772848 * std::expm1(at) : at);
      EXPECT_NEAR(y.at(i), wanted, 1e-15 * std::fabs(wanted) * 4) << at;
    }
  }
}

TEST(ScalarEdges, CubeRootsOfEveryMagnitude) {
  std::mt19937_64 rng(5);
  std::uniform_real_distribution<double> exponent(-148, 127);
  std::vector<double> x = {0.0, -0.0, 8, -27, 1e-45, 3e38, kInfinity, -kInfinity};
  for (int i = 0; i < 4000; ++i) {
    x.push_back((i % 2 == 0 ? 1 : -1) * std::exp2(exponent(rng)));
  }
  for (const Dtype dtype : {f32, f64}) {
    const Array in = repeated(dtype, x);
    for (const Array& y : both_ways([](const Value& v) { return cbrt(v); }, in)) {
      for (int64_t i = 0; i < y.size(); ++i) {
        const auto wanted = static_cast<double>(std::cbrt(static_cast<long double>(in.at(i))));  // libm is 3 off in f64
        const double unit = dtype == f32 ? 0x1p-23 : 0x1p-52;
        EXPECT_TRUE(y.at(i) == wanted || std::fabs(y.at(i) - wanted) <= 2 * unit * std::fabs(wanted))
            << name(dtype) << " " << in.at(i) << ": " << y.at(i) << ", " << wanted;
        EXPECT_EQ(std::signbit(y.at(i)), std::signbit(wanted)) << in.at(i);
      }
    }
  }
}

/// Ties of the half type, and what is beside them by less than an f32 shows.
TEST(ScalarEdges, CastsToHalfTypesRoundOnce) {
  for (const Dtype half : {f16, bf16}) {
    const double tie = half == f16 ? 1 + 0x1p-11 : 1 + 0x1p-8;
    std::vector<double> x;
    for (const double scale : {1.0, -1.0, 0x1p-14, 0x1p10}) {
      for (const double beside : {-0x1p-40, 0.0, 0x1p-40, 0x1p-30}) {
        x.push_back(scale * (tie + beside));
        x.push_back(scale * (tie + (tie - 1) * 2 + beside));
      }
    }
    const Array in = repeated(f64, x);
    for (const Array& y : both_ways([&](const Value& v) { return cast(v, half); }, in)) {
      EXPECT_TRUE(same(y, in.cast(half)));
    }
    // One more operation before it is stored.
    for (const Array& y : both_ways([&](const Value& v) { return cast(cast(v, half), f32); }, in)) {
      EXPECT_TRUE(same(y, in.cast(half).cast(f32)));
    }
  }
  const std::vector<double> whole = {(1 << 30) + (1 << 22) + 1.0, (1 << 30) + (1 << 22), -(1 << 30) - (1 << 22) - 1.0};
  for (const Dtype from : {i32, i64}) {
    const Array in = repeated(from, whole);
    for (const Array& y : both_ways([](const Value& v) { return cast(v, bf16); }, in)) {
      EXPECT_TRUE(same(y, in.cast(bf16)));
    }
  }
}

}  // namespace
}  // namespace tenon::scalar_edges_test
