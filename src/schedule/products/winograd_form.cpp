#include "schedule/products/winograd_form.h"

#include "base/fail.h"

namespace tenon::schedule {
namespace {

// The points of large squares are 0, a, -a, b, -b.
constexpr double kA = 0.75;
constexpr double kB = 1.5;
constexpr double kA2 = kA * kA;
constexpr double kB2 = kB * kB;
// What values there are divided by.
constexpr double kAtA = 2 * kA2 * (kA2 - kB2);
constexpr double kAtB = 2 * kB2 * (kB2 - kA2);

/// Arithmetic on f32 values of loops.
class Arithmetic {
 public:
  explicit Arithmetic(KernelValues& values) : values_(values) {}

  int add(int x, int y) { return values_.compute(Prim::add, Dtype::f32, {x, y}); }
  int sub(int x, int y) { return values_.compute(Prim::sub, Dtype::f32, {x, y}); }
  int times(double factor, int x) {
    return values_.compute(Prim::mul, Dtype::f32, {values_.constant(Dtype::f32, factor), x});
  }

 private:
  KernelValues& values_;
};

void check_size(WinogradForm form, size_t size) {
  TENON_CHECK(static_cast<int64_t>(size) == form.pixels() && (form == kSmallSquares || form == kLargeSquares),
              "{} numbers of squares of {}", size, form.results);
}

}  // namespace

std::array<double, 6> transformed_weights(WinogradForm form, double a, double b, double c) {
  if (form == kSmallSquares) {
    return {a, (a + b + c) / 2, (a - b + c) / 2, c};
  }
  // The value at each point, divided by the product of its distances from the others.
  return {a / (kA2 * kB2),
          (a + kA * b + kA2 * c) / kAtA,
          (a - kA * b + kA2 * c) / kAtA,
          (a + kB * b + kB2 * c) / kAtB,
          (a - kB * b + kB2 * c) / kAtB,
          c};
}

RecoveredWeight recovered_weight(WinogradForm form, int64_t position) {
  const bool small = form == kSmallSquares;
  switch (position) {
    case 0: return {.factor = small ? 1 : kA2 * kB2, .number = 0};
    case 1: return {.factor = small ? 1 : kAtA / (2 * kA), .number = 1, .less = 2};
    default: return {.number = form.pixels() - 1};
  }
}

std::vector<int> transformed_pixels(WinogradForm form, KernelValues& values, const std::vector<int>& d) {
  check_size(form, d.size());
  Arithmetic f(values);
  if (form == kSmallSquares) {
    return {f.sub(d[0], d[2]), f.add(d[1], d[2]), f.sub(d[2], d[1]), f.sub(d[1], d[3])};
  }
  const auto ends = [&](int x0, int x2, int x4) {  // x4 - (a^2 + b^2) x2 + a^2 b^2 x0
    return f.add(f.sub(x4, f.times(kA2 + kB2, x2)), f.times(kA2 * kB2, x0));
  };
  const auto even = [&](double other2) { return f.sub(d[4], f.times(other2, d[2])); };
  const auto odd = [&](double point, double other2) { return f.times(point, f.sub(d[3], f.times(other2, d[1]))); };
  const int even_a = even(kB2);
  const int odd_a = odd(kA, kB2);
  const int even_b = even(kA2);
  const int odd_b = odd(kB, kA2);
  return {ends(d[0], d[2], d[4]), f.add(even_a, odd_a), f.sub(even_a, odd_a),
          f.add(even_b, odd_b),   f.sub(even_b, odd_b), ends(d[1], d[3], d[5])};
}

std::vector<int> transformed_sums(WinogradForm form, KernelValues& values, const std::vector<int>& m) {
  check_size(form, m.size());
  Arithmetic f(values);
  if (form == kSmallSquares) {
    return {f.add(f.add(m[0], m[1]), m[2]), f.sub(f.sub(m[1], m[2]), m[3])};
  }
  const int even_a = f.add(m[1], m[2]);
  const int odd_a = f.sub(m[1], m[2]);
  const int even_b = f.add(m[3], m[4]);
  const int odd_b = f.sub(m[3], m[4]);
  return {f.add(f.add(m[0], even_a), even_b), f.add(f.times(kA, odd_a), f.times(kB, odd_b)),
          f.add(f.times(kA2, even_a), f.times(kB2, even_b)),
          f.add(f.add(f.times(kA * kA2, odd_a), f.times(kB * kB2, odd_b)), m[5])};
}

}  // namespace tenon::schedule
