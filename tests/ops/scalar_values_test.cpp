// Every row of the scalar table against a closed form written without it: in f64 to a few ulps, in the narrower floats
// to their rounding, in every integer dtype to the bit.
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numbers>

#include "base/convert.h"
#include "kernel/scalar/scalar_eval.h"
#include "ops/scalar/scalar_table.h"
#include "support/arrays.h"

namespace tenon::scalar_values_test {
namespace {

using Point = std::vector<double>;
using Closed = std::function<double(const Point&)>;

Closed unary(double (*f)(double)) {
  return [f](const Point& x) { return f(x[0]); };
}
Closed binary(double (*f)(double, double)) {
  return [f](const Point& x) { return f(x[0], x[1]); };
}

double sigmoid_of(double x) { return 0.5 * (1 + std::tanh(0.5 * x)); }
double softplus_of(double x) { return x > 40 ? x : std::log1p(std::exp(x)); }
double python_mod(double x, double y) {
  const double r = std::fmod(x, y);
  return r != 0 && std::signbit(r) != std::signbit(y) ? r + y : r;
}
double propagate(double x, double y, double chosen) { return std::isnan(x) || std::isnan(y) ? x + y : chosen; }

const std::map<std::string_view, Closed>& closed_forms() {
  static const std::map<std::string_view, Closed> forms = {
      // arithmetic
      {"add", [](const Point& x) { return x[0] + x[1]; }},
      {"sub", [](const Point& x) { return x[0] - x[1]; }},
      {"mul", [](const Point& x) { return x[0] * x[1]; }},
      {"div", [](const Point& x) { return x[0] / x[1]; }},
      {"floor_div",
       [](const Point& x) { return x[1] == 0 ? x[0] / x[1] : std::round((x[0] - python_mod(x[0], x[1])) / x[1]); }},
      {"rem", binary(std::fmod)},
      {"mod", binary(python_mod)},
      {"neg", [](const Point& x) { return -x[0]; }},
      {"stop_gradient", [](const Point& x) { return x[0]; }},
      {"abs", unary(std::fabs)},
      {"sign", [](const Point& x) { return std::isnan(x[0]) ? x[0] : (x[0] > 0) - (x[0] < 0); }},
      {"min", [](const Point& x) { return propagate(x[0], x[1], std::fmin(x[0], x[1])); }},
      {"max", [](const Point& x) { return propagate(x[0], x[1], std::fmax(x[0], x[1])); }},
      {"fmin", binary(std::fmin)},
      {"fmax", binary(std::fmax)},
      {"clamp", [](const Point& x) { return std::fmin(std::fmax(x[0], x[1]), x[2]); }},
      {"reciprocal", [](const Point& x) { return 1 / x[0]; }},
      {"square", [](const Point& x) { return x[0] * x[0]; }},
      {"sqrt", unary(std::sqrt)},
      {"rsqrt", [](const Point& x) { return 1 / std::sqrt(x[0]); }},
      {"cbrt", unary(std::cbrt)},
      {"pow", binary(std::pow)},
      {"hypot", binary(std::hypot)},
      {"copysign", binary(std::copysign)},
      // exponential
      {"exp", unary(std::exp)},
      {"exp_normal", [](const Point& x) { return x[0] < -80 ? 0 : std::exp(x[0]); }},
      {"exp2", unary(std::exp2)},
      {"expm1", unary(std::expm1)},
      {"log", unary(std::log)},
      {"log2", unary(std::log2)},
      {"log10", unary(std::log10)},
      {"log1p", unary(std::log1p)},
      {"logaddexp",
       [](const Point& x) {
         const double m = std::fmax(x[0], x[1]);
         return m + std::log(std::exp(x[0] - m) + std::exp(x[1] - m));
       }},
      {"erf", unary(std::erf)},
      // trigonometric
      {"radians", [](const Point& x) { return x[0] * std::numbers::pi / 180; }},
      {"degrees", [](const Point& x) { return x[0] / std::numbers::pi * 180; }},
      {"sin", unary(std::sin)},
      {"cos", unary(std::cos)},
      {"tan", unary(std::tan)},
      {"asin", unary(std::asin)},
      {"acos", unary(std::acos)},
      {"atan", unary(std::atan)},
      {"atan2", binary(std::atan2)},
      {"sinh", unary(std::sinh)},
      {"cosh", unary(std::cosh)},
      {"tanh", unary(std::tanh)},
      {"asinh", unary(std::asinh)},
      {"acosh", unary(std::acosh)},
      {"atanh", unary(std::atanh)},
      // rounding
      {"floor", unary(std::floor)},
      {"ceil", unary(std::ceil)},
      {"trunc", unary(std::trunc)},
      {"round", unary(std::nearbyint)},
      // activation
      {"sigmoid", unary(sigmoid_of)},
      {"relu", [](const Point& x) { return x[0] > 0 ? x[0] : 0.0; }},
      {"leaky_relu", [](const Point& x) { return x[0] >= 0 ? x[0] : x[0] * x[1]; }},
      {"thresholded_relu", [](const Point& x) { return x[0] > x[1] ? x[0] : 0.0; }},
      {"elu", [](const Point& x) { return x[0] >= 0 ? x[0] : x[1] * std::expm1(x[0]); }},
      {"celu",
       [](const Point& x) { return std::fmax(0, x[0]) + std::fmin(0, x[1] * std::expm1(std::fmin(x[0], 0) / x[1])); }},
      {"selu",
       [](const Point& x) { return 1.0507009873554805 * (x[0] >= 0 ? x[0] : 1.6732632423543772 * std::expm1(x[0])); }},
      {"softplus", unary(softplus_of)},
      {"softsign", [](const Point& x) { return x[0] / (1 + std::fabs(x[0])); }},
      {"hard_sigmoid", [](const Point& x) { return std::fmax(0, std::fmin(1, x[1] * x[0] + x[2])); }},
      {"hard_swish", [](const Point& x) { return x[0] * std::fmax(0, std::fmin(1, x[0] / 6 + 0.5)); }},
      {"silu", [](const Point& x) { return x[0] * sigmoid_of(x[0]); }},
      {"gelu", [](const Point& x) { return x[0] * 0.5 * std::erfc(-x[0] / std::numbers::sqrt2); }},
      {"gelu_tanh",
       [](const Point& x) {
         return 0.5 * x[0] * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x[0] + 0.044715 * std::pow(x[0], 3))));
       }},
      {"gelu_sigmoid", [](const Point& x) { return x[0] * sigmoid_of(1.702 * x[0]); }},
      {"mish", [](const Point& x) { return x[0] * std::tanh(softplus_of(x[0])); }},
      {"shrink", [](const Point& x) { return x[0] < -x[1]  ? x[0] + x[2]
                                             : x[0] > x[1] ? x[0] - x[2]
                                                           : 0.0; }},
  };
  return forms;
}

/// Truth values, by the same idea.
const std::map<std::string_view, Closed>& predicates() {
  static const std::map<std::string_view, Closed> forms = {
      {"eq", [](const Point& x) { return x[0] == x[1]; }},
      {"ne", [](const Point& x) { return x[0] != x[1]; }},
      {"lt", [](const Point& x) { return x[0] < x[1]; }},
      {"le", [](const Point& x) { return x[0] <= x[1]; }},
      {"gt", [](const Point& x) { return x[0] > x[1]; }},
      {"ge", [](const Point& x) { return x[0] >= x[1]; }},
      {"isnan", [](const Point& x) { return std::isnan(x[0]); }},
      {"isinf", [](const Point& x) { return std::isinf(x[0]); }},
      {"isfinite", [](const Point& x) { return std::isfinite(x[0]); }},
      {"signbit", [](const Point& x) { return std::signbit(x[0]) && !std::isnan(x[0]); }},
  };
  return forms;
}

/// Rows over integers, exact.
__extension__ typedef __int128 Wide;
using Exact = std::function<Wide(Wide a, Wide b, int bits)>;
/// The low bits, which are all that counts; the product of two u64 does not fit.
Wide wrapping_product(Wide a, Wide b) { return static_cast<Wide>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)); }
Wide floor_quotient(Wide a, Wide b) { return b == 0 ? 0 : a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }

const std::map<std::string_view, Exact>& integer_forms() {
  static const std::map<std::string_view, Exact> forms = {
      {"add", [](auto a, auto b, int) { return a + b; }},
      {"sub", [](auto a, auto b, int) { return a - b; }},
      {"mul", [](auto a, auto b, int) { return wrapping_product(a, b); }},
      {"div", [](auto a, auto b, int) { return b == 0 ? Wide{0} : a / b; }},
      {"floor_div", [](auto a, auto b, int) { return floor_quotient(a, b); }},
      {"rem", [](auto a, auto b, int) { return b == 0 ? Wide{0} : a % b; }},
      {"mod", [](auto a, auto b, int) { return b == 0 ? Wide{0} : a - b * floor_quotient(a, b); }},
      {"min", [](auto a, auto b, int) { return a < b ? a : b; }},
      {"max", [](auto a, auto b, int) { return a > b ? a : b; }},
      {"bit_and", [](auto a, auto b, int) { return a & b; }},
      {"bit_or", [](auto a, auto b, int) { return a | b; }},
      {"bit_xor", [](auto a, auto b, int) { return a ^ b; }},
      {"shl",
       [](auto a, auto b, int bits) { return b < 0 || b >= bits ? Wide{0} : a * (Wide{1} << static_cast<int>(b)); }},
      {"shr",
       [](auto a, auto b, int bits) { return b < 0 || b >= bits ? Wide{a < 0 ? -1 : 0} : a >> static_cast<int>(b); }},
      {"neg", [](auto a, auto, int) { return -a; }},
      {"stop_gradient", [](auto a, auto, int) { return a; }},
      {"abs", [](auto a, auto, int) { return a < 0 ? -a : a; }},
      {"sign", [](auto a, auto, int) { return Wide{(a > 0) - (a < 0)}; }},
      {"square", [](auto a, auto, int) { return wrapping_product(a, a); }},
      {"bit_not", [](auto a, auto, int) { return ~a; }},
      {"relu", [](auto a, auto, int) { return a > 0 ? a : Wide{0}; }},
  };
  return forms;
}

/// fn at each point in `dtype`, as doubles.
std::vector<double> values_of(const ScalarFn& fn, Dtype dtype, const std::vector<Point>& points) {
  const auto count = static_cast<int64_t>(points.size());
  std::vector<Array> columns;
  std::vector<const std::byte*> args;
  for (size_t k = 0; k < static_cast<size_t>(fn.arity); ++k) {
    Array column(f64, {count});
    for (size_t i = 0; i < points.size(); ++i) {
      column.mutable_values<double>()[i] = points[i][k];
    }
    columns.push_back(column.cast(dtype).cast(compute_dtype(dtype)));
  }
  for (const Array& column : columns) {
    args.push_back(column.data());
  }
  const std::vector<Dtype> operands(static_cast<size_t>(fn.arity), dtype);
  const Expr value = instantiate(fn, operands, dtype);
  Array out(value.dtype(), {count});
  std::byte* result = out.mutable_data();
  evaluate(flatten({value}), args, std::span(&result, 1), count);
  const Array stored = fn.result == ResultRule::same ? out.cast(dtype) : out;
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(stored.at(i));
  }
  return values;
}

std::vector<Point> grid(int arity) {
  const std::vector<double> inside = {-40,  -7.25, -3,  -1.5, -1,  -0.75, -0.001, -0.0, 0.0,
                                      1e-9, 0.25,  0.5, 1,    2.5, 3,     9,      30};
  const std::vector<double> coarse = {-3, -0.5, 0.0, 0.25, 1, 2, 7};
  std::vector<Point> points;
  for (const double x : arity == 1 ? inside : arity == 2 ? inside : coarse) {
    if (arity == 1) {
      points.push_back({x});
    }
    for (const double y : arity == 1 ? std::vector<double>{} : coarse) {
      if (arity == 2) {
        points.push_back({x, y});
      }
      for (const double z : arity == 3 ? coarse : std::vector<double>{}) {
        points.push_back({x, y, z});
      }
    }
  }
  return points;
}

TEST(ScalarValues, EveryRowHasAClosedForm) {
  for (const ScalarFn* fn : scalar_table()) {
    const bool covered = closed_forms().contains(fn->name) || predicates().contains(fn->name) ||
                         integer_forms().contains(fn->name) || fn->name == "select" || fn->name == "cast" ||
                         fn->domain == Domain::logical || fn->name == "reinterpret";
    EXPECT_TRUE(covered) << fn->name << " is not checked against anything independent";
  }
}

TEST(ScalarValues, TheBitsOfNumbers) {
  const ScalarFn& fn = scalar_fn("reinterpret");
  EXPECT_EQ(values_of(fn, f32, {{1.0}, {-0.0}}), (std::vector<double>{0x3f800000, INT32_MIN}));
  EXPECT_EQ(values_of(fn, f64, {{2.0}}), (std::vector<double>{0x4000000000000000}));
  EXPECT_EQ(values_of(fn, i32, {{0x40490fdb}}), (std::vector<double>{static_cast<double>(0x1.921fb6p+1F)}));
  EXPECT_EQ(values_of(fn, i64, {{0x4000000000000000}}), (std::vector<double>{2.0}));
}

void expect_close(const ScalarFn& fn, Dtype dtype, double relative, double absolute) {
  const Closed& closed = closed_forms().at(fn.name);
  std::vector<Point> points = grid(fn.arity);
  for (Point& point : points) {
    for (double& x : point) {
      x = Array::scalar(dtype, x).at(0);  // what the dtype can hold
    }
  }
  const std::vector<double> actual = values_of(fn, dtype, points);
  for (size_t i = 0; i < points.size(); ++i) {
    const double expected = Array::scalar(dtype, closed(points[i])).at(0);
    std::string at = std::string(fn.name) + " in " + std::string(name(dtype)) + " at";
    for (const double x : points[i]) {
      at += " " + std::to_string(x);
    }
    if (std::isnan(expected) || std::isinf(expected)) {
      EXPECT_TRUE(actual[i] == expected || (std::isnan(actual[i]) && std::isnan(expected)))
          << at << " is " << actual[i] << ", expected " << expected;
    } else {
      EXPECT_LE(std::fabs(actual[i] - expected), absolute + relative * std::fabs(expected))
          << at << " is " << actual[i] << ", expected " << expected;
    }
  }
}

TEST(ScalarValues, FloatsAgreeWithClosedForms) {
  for (const auto& [name, closed] : closed_forms()) {
    const ScalarFn& fn = scalar_fn(name);
    expect_close(fn, f64, 4e-15, 1e-15);
    expect_close(fn, f32, 2e-6, 1e-6);
    expect_close(fn, f16, 2e-3, 1e-3);
    expect_close(fn, bf16, 1.6e-2, 1e-2);
  }
}

TEST(ScalarValues, PredicatesAgreeOnFloatsOfEveryKind) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> special = {-inf, -2, -0.0, 0.0, 0.5, 2, inf, nan};
  for (const auto& [name, closed] : predicates()) {
    const ScalarFn& fn = scalar_fn(name);
    std::vector<Point> points;
    for (const double x : special) {
      for (const double y : special) {
        points.push_back({x, y});
      }
    }
    for (const Dtype dtype : {f64, f32, f16, bf16}) {
      const std::vector<double> actual = values_of(fn, dtype, points);
      for (size_t i = 0; i < points.size(); ++i) {
        EXPECT_EQ(actual[i], closed(points[i])) << name << " " << points[i][0] << " " << points[i][1];
      }
    }
  }
}

TEST(ScalarValues, IntegersAgreeToTheBit) {
  for (const auto& [row, exact] : integer_forms()) {
    const ScalarFn& fn = scalar_fn(row);
    for (const Dtype dtype : {i8, i16, i32, i64, u8, u16, u32, u64}) {
      visit_dtype(dtype, [&]<class T>() {
        if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
          using Limits = std::numeric_limits<T>;
          const std::vector<T> samples = {Limits::min(),
                                          static_cast<T>(Limits::min() + 1),
                                          static_cast<T>(-7),
                                          static_cast<T>(-1),
                                          T{0},
                                          T{1},
                                          T{2},
                                          T{3},
                                          T{7},
                                          T{100},
                                          static_cast<T>(Limits::max() - 1),
                                          Limits::max()};
          std::vector<T> a;
          std::vector<T> b;
          for (const T x : samples) {
            for (const T y : samples) {
              a.push_back(x);
              b.push_back(y);
            }
          }
          const std::byte* args[] = {reinterpret_cast<const std::byte*>(a.data()),
                                     reinterpret_cast<const std::byte*>(b.data())};
          std::vector<T> out(a.size());
          auto* result = reinterpret_cast<std::byte*>(out.data());
          const std::vector<Dtype> operands(static_cast<size_t>(fn.arity), dtype);
          evaluate(flatten({instantiate(fn, operands, dtype)}), args, std::span(&result, 1),
                   static_cast<int64_t>(a.size()));
          for (size_t i = 0; i < a.size(); ++i) {
            const Wide wide = exact(a[i], b[i], Limits::digits + std::is_signed_v<T>);
            EXPECT_EQ(out[i], static_cast<T>(wide)) << row << " of " << name(dtype) << " " << +a[i] << " " << +b[i];
          }
        }
      });
    }
  }
}

TEST(ScalarValues, LogicAndSelection) {
  const bool bits[] = {false, false, true, true};
  const bool other[] = {false, true, false, true};
  const auto run = [&](std::string_view row, Dtype result) {
    const std::byte* args[] = {reinterpret_cast<const std::byte*>(bits), reinterpret_cast<const std::byte*>(other),
                               reinterpret_cast<const std::byte*>(bits)};
    const ScalarFn& fn = scalar_fn(row);
    Array out(result, {4});
    std::byte* to = out.mutable_data();
    evaluate(flatten({instantiate(fn, std::vector<Dtype>(static_cast<size_t>(fn.arity), boolean), result)}), args,
             std::span(&to, 1), 4);
    return out.to_string();
  };
  EXPECT_EQ(run("logical_and", boolean), "bool[4] {false, false, false, true}");
  EXPECT_EQ(run("logical_or", boolean), "bool[4] {false, true, true, true}");
  EXPECT_EQ(run("logical_xor", boolean), "bool[4] {false, true, true, false}");
  EXPECT_EQ(run("logical_not", boolean), "bool[4] {true, true, false, false}");
  EXPECT_EQ(run("bit_not", boolean), "bool[4] {true, true, false, false}");
  EXPECT_EQ(run("select", boolean), "bool[4] {false, false, false, true}");
  EXPECT_EQ(run("cast", i32), "i32[4] {0, 0, 1, 1}");
}

}  // namespace
}  // namespace tenon::scalar_values_test
