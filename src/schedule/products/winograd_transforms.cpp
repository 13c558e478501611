#include "schedule/products/winograd_transforms.h"

#include "base/fail.h"

namespace tenon::schedule {
namespace {

using layouts::kLargeSquares;
using layouts::kSmallSquares;
using layouts::WinogradForm;

constexpr double kA = layouts::WinogradPoints::a;
constexpr double kB = layouts::WinogradPoints::b;
constexpr double kA2 = layouts::WinogradPoints::a2;
constexpr double kB2 = layouts::WinogradPoints::b2;

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
