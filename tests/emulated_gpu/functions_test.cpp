// Functions of f64, remainders and powers of integers, for which CPUs call libm, against libm in more bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "support/arrays.h"
#include "tenon/tenon.h"

namespace tenon::functions_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

CompileOptions on_gpu() { return {.disk_cache = false, .machine = gpu()}; }

/// |actual - exact| in units of the last place of an f64 at `exact`; infinity for a wrong sign of zero or NaN.
double error_in_ulps(double actual, long double exact) {
  if (std::isnan(exact) || std::isnan(actual)) return std::isnan(exact) && std::isnan(actual) ? 0 : kInfinity;
  if (std::signbit(exact) != std::signbit(actual)) return kInfinity;
  const bool is_beyond = std::isinf(static_cast<double>(exact));
  if (is_beyond || std::isinf(actual)) return is_beyond && std::isinf(actual) ? 0 : kInfinity;
  const int exponent = std::fabs(exact) < 0x1p-1022L ? -1022 : std::ilogb(exact);
  return static_cast<double>(std::fabs(actual - exact) / std::ldexp(1.0L, exponent - 52));
}

std::vector<double> ends() {
  return {0.0,
          -0.0,
          1,
          -1,
          0.5,
          kInfinity,
          -kInfinity,
          kNan,
          0x1p-1074,
          -0x1p-1040,
          0x1p-1022,
          1e300,
          -1e300,
          709.78,
          709.79,
          -745.13,
          -745.2,
          -708.5,
          2.0 / 3,
          1e-9,
          0x1p40,
          0x1p41,
          6.0e5,
          1e22,
          1.7976e308,
          3.14159265,
          1.5707963267948966,
          6.381956970095103e+291,
          0.7071067811865475};
}

/// Of all magnitudes, and of those around 1.
std::vector<double> samples(uint64_t seed, int count) {
  std::vector<double> all = ends();
  std::mt19937_64 random(seed);
  std::normal_distribution<double> around(0, 3);
  for (int i = 0; i < count; ++i) {
    const double any = std::bit_cast<double>(random());
    all.push_back(i % 3 == 0 ? any : i % 3 == 1 ? around(random) : around(random) * 60);
  }
  return all;
}

struct Function {
  const char* name;
  long double (*exact)(long double x);
  double bound;
};

class FunctionsOfF64 : public testing::TestWithParam<Function> {};

TEST_P(FunctionsOfF64, AreNear) {
  const Value x = input("x", shape(f64, "n"));
  const std::vector<double> given = samples(5, 4000);
  const Array in = Array::from<double>({std::ssize(given)}, given);
  const Array found = compile(Graph({x}, {{"y", map(GetParam().name, {x})}}), on_gpu()).run({in})[0];
  double worst = 0;
  for (size_t i = 0; i < given.size(); ++i) {
    const double error = error_in_ulps(found.values<double>()[i], GetParam().exact(given[i]));
    EXPECT_LE(error, GetParam().bound) << GetParam().name << " of " << given[i] << ": " << found.values<double>()[i];
    worst = std::max(worst, error);
  }
  RecordProperty("worst", std::to_string(worst));
}

const Function kFunctions[] = {
    {"exp", std::exp, 2}, {"expm1", std::expm1, 2}, {"log", std::log, 2},   {"log1p", std::log1p, 2},
    {"sin", std::sin, 4}, {"cos", std::cos, 4},     {"tanh", std::tanh, 4}, {"erf", std::erf, 4},
};

INSTANTIATE_TEST_SUITE_P(Of, FunctionsOfF64, testing::ValuesIn(kFunctions),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(FunctionsOfTwo, AreNear) {
  const Value x = input("x", shape(f64, "n"));
  const Value y = input("y", shape(f64, "n"));
  std::vector<double> a = samples(6, 3000);
  std::vector<double> b = samples(7, 3000);
  for (const double p : ends()) {
    for (const double q : ends()) {
      a.push_back(p);
      b.push_back(q);
    }
  }
  std::mt19937_64 random(8);
  std::uniform_real_distribution<double> near_one(0.5, 2);
  std::uniform_int_distribution<int> whole(-300, 300);
  for (int i = 0; i < 1000; ++i) {  // powers that are no infinities
    a.push_back(i % 2 == 0 ? near_one(random) : -near_one(random));
    b.push_back(whole(random));
  }
  const auto array = [](const std::vector<double>& all) { return Array::from<double>({std::ssize(all)}, all); };
  const Graph graph({x, y}, {{"pow", pow(x, y)}, {"atan2", atan2(x, y)}, {"mod", mod(x, y)}});
  const auto found = compile(graph, on_gpu()).run({array(a), array(b)});
  const auto wanted = interpret(graph, {array(a), array(b)});
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_LE(error_in_ulps(found[0].values<double>()[i], std::pow(static_cast<long double>(a[i]), b[i])), 8)
        << "pow of " << a[i] << ", " << b[i] << ": " << found[0].values<double>()[i];
    EXPECT_LE(error_in_ulps(found[1].values<double>()[i], std::atan2(static_cast<long double>(a[i]), b[i])), 4)
        << "atan2 of " << a[i] << ", " << b[i] << ": " << found[1].values<double>()[i];
    EXPECT_LE(error_in_ulps(found[2].values<double>()[i], wanted[2].values<double>()[i]), 0)
        << "mod of " << a[i] << ", " << b[i] << ": " << found[2].values<double>()[i];
  }
}

TEST(FunctionsOfTwo, RemaindersOfF32AndPowersOfIntegers) {
  std::mt19937_64 random(9);
  const Value x = input("x", shape(f32, "n"));
  const Value y = input("y", shape(f32, "n"));
  std::vector<float> a, b;
  for (int i = 0; i < 2000; ++i) {
    a.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
    b.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
  }
  const std::vector<Array> floats{Array::from<float>({std::ssize(a)}, a), Array::from<float>({std::ssize(b)}, b)};
  const Graph rest({x, y}, {{"mod", mod(x, y)}});
  EXPECT_TRUE(close(compile(rest, on_gpu()).run(floats)[0], interpret(rest, floats)[0], 0, 0));
  for (const Dtype dtype : {i8, i32, i64, u8, u64}) {
    const Value base = input("base", shape(dtype, "n"));
    const Value exponent = input("exponent", shape(dtype, "n"));
    const Graph graph({base, exponent}, {{"pow", pow(base, exponent)}});
    const double least = is_signed_integer(dtype) ? -6 : 0;
    const std::vector<Array> whole{random_array(dtype, {500}, random, least, 6),
                                   random_array(dtype, {500}, random, least, 40)};
    EXPECT_TRUE(same_bits(compile(graph, on_gpu()).run(whole)[0], interpret(graph, whole)[0])) << name(dtype);
  }
}

}  // namespace
}  // namespace tenon::functions_test
