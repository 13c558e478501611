// The error of the mathematics of f32 in units of the last place, against libm in f64, with and without fma.
//
// Functions of one operand are tried on every 257th float. All 2^32 of them, some minutes for each function:
//   test_codegen --gtest_also_run_disabled_tests --gtest_filter='*EveryFloat*'
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <iostream>
#include <limits>
#include <random>

#include "codegen/scalar_loops.h"

namespace tenon::codegen::math_accuracy_test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// |actual - exact| in units of the last place of a float at `exact`; infinity for a wrong sign of zero or NaN.
double error_in_ulps(float actual, double exact) {
  constexpr double beyond = 0x1p128;
  if (std::isnan(exact) || std::isnan(actual)) {
    return std::isnan(exact) && std::isnan(actual) ? 0 : static_cast<double>(kInfinity);
  }
  if (std::signbit(actual) != std::signbit(exact)) {
    return static_cast<double>(kInfinity);
  }
  const double size = std::fabs(exact);
  const double got = std::isinf(actual) ? beyond : std::fabs(static_cast<double>(actual));
  if (size >= beyond) {
    return got == beyond ? 0 : static_cast<double>(kInfinity);
  }
  const int exponent = size < 0x1p-126 ? -126 : std::ilogb(size);
  return std::fabs(got - size) / std::ldexp(1.0, exponent - 23);
}

struct Function {
  Prim prim;
  double bound;        // in units of the last place
  double bound_fused;  // ... with fma
  double (*exact)(double);
  double limit = std::numeric_limits<double>::infinity();  // of the result's magnitude, which rounding must not pass
};

const Function kUnary[] = {
    {Prim::exp_normal, 2.0, 2.0, [](double x) { return x < -80 ? 0 : std::exp(x); }},
    {Prim::sqrt, 0.5, 0.5, std::sqrt},
    {Prim::exp, 1.5, 1.0, std::exp},
    {Prim::expm1, 2.0, 2.0, std::expm1},
    {Prim::log, 1.0, 1.0, std::log},
    {Prim::log1p, 2.0, 2.0, std::log1p},
    {Prim::sin, 2.0, 2.0, std::sin, 1},
    {Prim::cos, 2.0, 2.0, std::cos, 1},
    {Prim::tanh, 3.0, 3.0, std::tanh, 1},
    {Prim::erf, 3.0, 2.5, std::erf, 1},
    {Prim::floor, 0.0, 0.0, std::floor},
    {Prim::round, 0.0, 0.0, std::nearbyint},
};

struct Worst {
  double error = 0;
  float x = 0;
  float y = 0;
  float actual = 0;
  double exact = 0;

  void meet(double other, float at_x, float at_y, float got, double wanted) {
    if (!(other <= error)) {
      *this = {other, at_x, at_y, got, wanted};
    }
  }
};

std::ostream& operator<<(std::ostream& out, const Worst& worst) {
  return out << fmt::format("{:.3f} ulp at {:a}, {:a}: {:a}, not {:a}", worst.error, worst.x, worst.y, worst.actual,
                            worst.exact);
}

/// The same function with and without fma where the machine has it, as kernels of ARM machines have it, and with all
/// else that this one's kernels use.
class Variants {
 public:
  explicit Variants(const ScalarProgram& program) : jit_(loop_options()) {
    const Target& target = jit_.target();
    const auto lanes = static_cast<unsigned>(target.lanes(32));
    loops_.push_back(compile_loop(jit_, program, {.lanes = lanes, .math = {}}));
    if (target.fma) {
      loops_.push_back(compile_loop(jit_, program, {.lanes = lanes, .math = {.fma = true}}));
      loops_.push_back(
          compile_loop(jit_, program, {.lanes = lanes, .math = {.fma = true, .limits = true, .loads_addends = true}}));
    }
    if (const MathOptions all = math_options(target); all.scale || all.tables) {
      loops_.push_back(compile_loop(jit_, program, {.lanes = lanes, .math = all}));
    }
  }

  size_t size() const { return loops_.size(); }

  void run(size_t variant, const std::vector<const void*>& args, float* result, size_t count) const {
    void* const results[] = {result};
    loops_[variant](args.data(), results, static_cast<int64_t>(count));
  }

 private:
  Jit jit_;
  std::vector<ScalarLoop*> loops_;
};

constexpr size_t kBlock = 1 << 12;

/// The worst error of each variant over every `stride`-th float.
std::vector<Worst> worst_over_floats(const Function& function, uint64_t stride) {
  const Variants variants(program_of(function.prim, Dtype::f32, 1));
  std::vector<Worst> worst(variants.size());
  std::vector<float> x(kBlock);
  std::vector<float> y(kBlock);
  std::vector<double> exact(kBlock);
  for (uint64_t first = 0; first < (uint64_t{1} << 32); first += stride * kBlock) {
    for (size_t i = 0; i < kBlock; ++i) {
      x[i] = std::bit_cast<float>(static_cast<uint32_t>(first + i * stride));
      exact[i] = function.exact(static_cast<double>(x[i]));
    }
    for (size_t v = 0; v < variants.size(); ++v) {
      variants.run(v, {x.data()}, y.data(), kBlock);
      for (size_t i = 0; i < kBlock; ++i) {
        const bool passed = std::fabs(static_cast<double>(y[i])) > function.limit;
        const double error = passed ? static_cast<double>(kInfinity) : error_in_ulps(y[i], exact[i]);
        worst[v].meet(error, x[i], 0, y[i], exact[i]);
      }
    }
  }
  return worst;
}

class MathAccuracy : public testing::TestWithParam<Function> {};

void check(const std::vector<Worst>& worst, double bound, double bound_fused) {
  for (size_t v = 0; v < worst.size(); ++v) {
    constexpr auto kNames = std::to_array({"without fma", "with fma", "as on ARM", "as in kernels"});
    std::cout << fmt::format("    {}: ", kNames[v]) << worst[v] << '\n';
    EXPECT_LE(worst[v].error, v == 0 ? bound : bound_fused) << worst[v];
  }
}

TEST_P(MathAccuracy, EachTwoHundredAndFiftySeventhFloat) {
  check(worst_over_floats(GetParam(), 257), GetParam().bound, GetParam().bound_fused);
}

TEST_P(MathAccuracy, DISABLED_EveryFloat) {
  check(worst_over_floats(GetParam(), 1), GetParam().bound, GetParam().bound_fused);
}

INSTANTIATE_TEST_SUITE_P(F32, MathAccuracy, testing::ValuesIn(kUnary),
                         [](const auto& row) { return std::string(name(row.param.prim)); });

struct BinaryFunction {
  Prim prim;
  double bound;
  double (*exact)(double, double);
};

const BinaryFunction kBinary[] = {
    {Prim::pow, 2.0, std::pow},
    {Prim::atan2, 2.0, std::atan2},
    {Prim::rem, 0.0, std::fmod},
    {Prim::div, 0.5, [](double x, double y) { return x / y; }},
};

class MathAccuracyOfTwo : public testing::TestWithParam<BinaryFunction> {
 protected:
  void expect_bound(std::vector<float> x, std::vector<float> y) {
    while (x.size() % 64 != 0) {
      x.push_back(1);
      y.push_back(1);
    }
    const Variants variants(program_of(GetParam().prim, Dtype::f32, 2));
    std::vector<float> z(x.size());
    std::vector<Worst> worst(variants.size());
    for (size_t v = 0; v < variants.size(); ++v) {
      variants.run(v, {x.data(), y.data()}, z.data(), z.size());
      for (size_t i = 0; i < z.size(); ++i) {
        const double exact = GetParam().exact(static_cast<double>(x[i]), static_cast<double>(y[i]));
        worst[v].meet(error_in_ulps(z[i], exact), x[i], y[i], z[i], exact);
      }
    }
    check(worst, GetParam().bound, GetParam().bound);
  }

  std::mt19937_64 rng_{7};
};

TEST_P(MathAccuracyOfTwo, RandomWords) {
  std::vector<float> x(1 << 21);
  std::vector<float> y(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const uint64_t word = rng_();
    x[i] = std::bit_cast<float>(static_cast<uint32_t>(word));
    y[i] = std::bit_cast<float>(static_cast<uint32_t>(word >> 32));
  }
  expect_bound(x, y);
}

TEST_P(MathAccuracyOfTwo, OfLikeSize) {
  std::vector<float> x(1 << 21);
  std::vector<float> y(x.size());
  std::lognormal_distribution<float> sizes(0, 3);
  std::bernoulli_distribution sign;
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = sizes(rng_) * (sign(rng_) ? -1.0f : 1.0f);
    y[i] = sizes(rng_) * (sign(rng_) ? -1.0f : 1.0f);
    y[i] = i % 3 == 0 ? std::nearbyint(y[i]) : y[i];
  }
  expect_bound(x, y);
}

TEST_P(MathAccuracyOfTwo, NearOneAndLarge) {
  std::vector<float> x(1 << 19);
  std::vector<float> y(x.size());
  std::uniform_real_distribution<float> near(-0.001f, 0.001f);
  std::uniform_real_distribution<float> large(-1e5f, 1e5f);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = 1 + near(rng_);
    y[i] = large(rng_);
  }
  expect_bound(x, y);
}

TEST_P(MathAccuracyOfTwo, Specials) {
  std::vector<float> values = {0.0f,           0.5f,           1.0f,      1.5f,      2.0f,
                               3.0f,           4.0f,           127.0f,    128.0f,    149.0f,
                               150.0f,         0x1p-149f,      0x1p-127f, 0x1p-126f, 0x1p23f,
                               0x1p24f,        0x1.fffffep23f, 0x1p31f,   0x1p127f,  0x1.fffffep127f,
                               0x1.fffffep-1f, 0x1.000002p0f,  1e10f,     1e-10f,    kInfinity};
  for (size_t i = values.size(); i-- > 0;) {
    values.push_back(-values[i]);
  }
  values.push_back(kNaN);
  std::vector<float> x;
  std::vector<float> y;
  for (const float a : values) {
    for (const float b : values) {
      x.push_back(a);
      y.push_back(b);
    }
  }
  expect_bound(x, y);
}

INSTANTIATE_TEST_SUITE_P(F32, MathAccuracyOfTwo, testing::ValuesIn(kBinary),
                         [](const auto& row) { return std::string(name(row.param.prim)); });

}  // namespace
}  // namespace tenon::codegen::math_accuracy_test
