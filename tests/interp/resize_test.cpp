// Resize against exact rational positions, over symbolic input and output sizes.
#include <algorithm>
#include <cmath>

#include "support/arrays.h"
#include "tenon/convolution.h"
#include "tenon/interpreter.h"

namespace tenon::resize_test {
namespace {

int64_t floor_quotient(int64_t a, int64_t b) { return (a - ((a % b) + b) % b) / b; }

/// A position as a fraction with a positive denominator.
struct Fraction {
  int64_t numerator, denominator;

  int64_t floor() const { return floor_quotient(numerator, denominator); }
  int64_t ceil() const { return -floor_quotient(-numerator, denominator); }
  double beyond_floor() const {
    return static_cast<double>(numerator - floor() * denominator) / static_cast<double>(denominator);
  }
};

/// Where position i of `out` lies among n elements, when the scale is up / down.
Fraction position(const std::string& coordinates, int64_t i, int64_t n, int64_t out, int64_t up, int64_t down) {
  if (coordinates == "asymmetric") {
    return {i * down, up};
  }
  if (coordinates == "align_corners") {
    return out == 1 ? Fraction{0, 1} : Fraction{i * (n - 1), out - 1};
  }
  if (coordinates == "pytorch_half_pixel" && out == 1) {
    return {0, 1};
  }
  return {(2 * i + 1) * down - up, 2 * up};
}

int64_t nearest(const std::string& rounding, const Fraction& p) {
  if (rounding == "floor") {
    return p.floor();
  }
  if (rounding == "ceil") {
    return p.ceil();
  }
  const Fraction fraction{2 * (p.numerator - p.floor() * p.denominator), p.denominator};  // compared with one half
  const bool up = rounding == "round_prefer_ceil" ? fraction.numerator >= fraction.denominator
                                                  : fraction.numerator > fraction.denominator;
  return p.floor() + (up ? 1 : 0);
}

/// The kernel of cubic convolution at distance d.
double cubic(double d, double a) {
  d = std::fabs(d);
  return d <= 1  ? (a + 2) * d * d * d - (a + 3) * d * d + 1
         : d < 2 ? a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a
                 : 0;
}

double sample(const std::vector<double>& x, const Fraction& p, const ResizeOptions& options) {
  const auto n = static_cast<int64_t>(x.size());
  const auto at = [&](int64_t i) { return x[static_cast<size_t>(std::max<int64_t>(0, std::min(i, n - 1)))]; };
  if (options.mode == "nearest") {
    return at(nearest(options.rounding, p));
  }
  double sum = 0;
  for (int64_t k = -1; k <= 2; ++k) {
    const double d = p.beyond_floor() - static_cast<double>(k);
    const double weight =
        options.mode == "cubic" ? cubic(d, options.cubic_coefficient) : std::max(0.0, 1 - std::fabs(d));
    sum += weight * at(p.floor() + k);
  }
  return sum;
}

std::vector<ResizeOptions> every_option() {
  std::vector<ResizeOptions> all;
  for (const char* coordinates : {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"}) {
    for (const char* rounding : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}) {
      all.push_back({.mode = "nearest", .coordinates = coordinates, .rounding = rounding});
    }
    all.push_back({.mode = "linear", .coordinates = coordinates});
    all.push_back({.mode = "cubic", .coordinates = coordinates});
    all.push_back({.mode = "cubic", .coordinates = coordinates, .cubic_coefficient = -0.5});
  }
  return all;
}

std::vector<double> values_of(const Array& x) { return {x.values<double>().begin(), x.values<double>().end()}; }

TEST(Resize, ToAnySizeFromAnySize) {
  std::mt19937_64 rng(41);
  const Value x = input("x", Shape::parse("f64[n]"));
  for (const ResizeOptions& options : every_option()) {
    const Graph graph({x}, {{"y", resize(x, {0}, {Extent::name("m")}, options)}});
    for (const int64_t n : {1, 2, 3, 7, 8, 9}) {
      const Array data = random_array(f64, {n}, rng);
      for (const int64_t m : {0, 1, 2, 3, 4, 7, 9, 14, 27}) {
        Array expected(f64, {m});
        for (int64_t i = 0; i < m; ++i) {
          expected.mutable_values<double>()[static_cast<size_t>(i)] =
              sample(values_of(data), position(options.coordinates, i, n, m, m, n), options);
        }
        const InterpretOptions bound{.bindings = {{"m", m}}};
        EXPECT_TRUE(close(interpret(graph, {data}, bound)[0], expected, 1e-11, 1e-11))
            << options.mode << " " << options.coordinates << " " << options.rounding << " " << n << " to " << m;
      }
    }
  }
}

TEST(Resize, ByAFractionOnASymbolicAxis) {
  std::mt19937_64 rng(42);
  const Value x = input("x", Shape::parse("f64[n]"));
  for (const ResizeOptions& options : every_option()) {
    for (const auto& [up, down] : {std::pair<int64_t, int64_t>{2, 1}, {3, 2}, {1, 3}, {5, 4}}) {
      const Scale scale{static_cast<double>(up), static_cast<double>(down)};
      const Graph graph({x}, {{"y", resize_by(x, {0}, {scale}, options)}});
      for (const int64_t n : {0, 1, 7, 8, 9}) {
        const Array data = random_array(f64, {n}, rng);
        const int64_t m = n * up / down;
        Array expected(f64, {m});
        for (int64_t i = 0; i < m; ++i) {
          expected.mutable_values<double>()[static_cast<size_t>(i)] =
              sample(values_of(data), position(options.coordinates, i, n, m, up, down), options);
        }
        EXPECT_TRUE(close(interpret(graph, {data})[0], expected, 1e-11, 1e-11))
            << options.mode << " " << options.coordinates << " " << options.rounding << " " << n << " by " << up << "/"
            << down;
      }
    }
  }
}

TEST(Resize, ImagesAreSampledAlongBothAxes) {
  const Value x = input("x", Shape::parse("f32[n, 1, h, w]"));
  const Array small = Array::from<float>({1, 1, 2, 2}, {1, 2, 3, 4});
  const Graph linear({x}, {{"y", resize_by(x, {2, 3}, {{2}, {2}}, {.mode = "linear"})}});
  EXPECT_TRUE(close(interpret(linear, {small})[0],
                    Array::from<float>({1, 1, 4, 4}, {1, 1.25f, 1.75f, 2, 1.5f, 1.75f, 2.25f, 2.5f, 2.5f, 2.75f, 3.25f,
                                                      3.5f, 3, 3.25f, 3.75f, 4}),
                    1e-6));
  const Graph nearest({x}, {{"y", resize_by(x, {2, 3}, {{2}, {3}})}});
  EXPECT_TRUE(
      same(interpret(nearest, {small})[0],
           Array::from<float>({1, 1, 4, 6}, {1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 3, 3, 3, 4, 4, 4})));
  Array square(f32, {1, 1, 4, 4});
  for (size_t i = 0; i < 16; ++i) {
    square.mutable_values<float>()[i] = static_cast<float>(i + 1);
  }
  const Graph cubic({x}, {{"y", resize_by(x, {2, 3}, {{2}, {2}}, {.mode = "cubic"})}});
  const Array y = interpret(cubic, {square})[0];
  const std::vector<double> first = {0.47265625, 0.76953125, 1.24609375, 1.875,
                                     2.28125,    2.91015625, 3.38671875, 3.68359375};
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_NEAR(y.at(static_cast<int64_t>(i)), first[i], 1e-6);
  }
}

TEST(Resize, ByANumberOnAStaticAxis) {
  const Value x = input("x", Shape::parse("f32[2, 4]"));
  const Graph graph({x}, {{"y", resize_by(x, {0, 1}, {{0.6}, {0.6}}, {.mode = "linear"})}});
  EXPECT_TRUE(close(interpret(graph, {Array::from<float>({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})})[0],
                    Array::from<float>({1, 2}, {2.6666667f, 4.3333333f}), 1e-6));
}

TEST(Resize, EveryDtype) {
  std::mt19937_64 rng(43);
  for (const Dtype dtype : all_dtypes()) {
    const Value x = input("x", shape(dtype, "n"));
    const Array data = random_array(dtype, {5}, rng);
    const Array near = interpret(Graph({x}, {{"y", resize_by(x, {0}, {{2}})}}), {data})[0];
    ASSERT_EQ(near.dtype(), dtype);
    for (int64_t i = 0; i < 10; ++i) {
      EXPECT_EQ(near.at(i), data.at(i / 2)) << name(dtype);
    }
    if (is_float(dtype)) {
      const ResizeOptions options{.mode = "linear"};
      const Array y = interpret(Graph({x}, {{"y", resize_by(x, {0}, {{2}}, options)}}), {data})[0];
      ASSERT_EQ(y.dtype(), dtype);
      const double unit = dtype == f64 ? 1e-12 : dtype == f32 ? 1e-6 : dtype == f16 ? 0x1p-11 : 0x1p-8;
      for (int64_t i = 0; i < 10; ++i) {
        const double expected = sample(values_of(data.cast(f64)), position("half_pixel", i, 5, 10, 2, 1), options);
        EXPECT_NEAR(y.at(i), expected, 4 * unit * 1.01) << name(dtype);
      }
    }
  }
}

}  // namespace
}  // namespace tenon::resize_test
