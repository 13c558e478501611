// sin, cos and atan2.
#include <array>
#include <numbers>

#include "codegen/math/llvm_math.h"

namespace tenon::codegen {
namespace {

constexpr double kShift = 0x1.8p+23;      // adding this rounds an f32 to an integer, found in the low bits of the word
constexpr double kWideShift = 0x1.8p+52;  // the same for f64

constexpr int64_t kSign = -0x80000000LL;  // the sign bit of a word

// (sin(r) - r) / r^3 in r^2, for |r| <= pi / 2.
constexpr auto kSin = std::to_array({-0x1.55554cp-3, 0x1.110edap-7, -0x1.9f70eep-13, 0x1.5dc8c2p-19});
// (atan(q) - q) / q^3 in q^2, for |q| <= 1.
constexpr auto kAtan = std::to_array({-0x1.5554dcp-2, 0x1.9978ecp-3, -0x1.230a96p-3, 0x1.b4deep-4, -0x1.35519ep-4,
                                      0x1.61f17ep-5, -0x1.0c1c94p-6, 0x1.7eb2b4p-9});

struct Reduced {
  Lanes rest;   // x - (k + half) pi, at most pi / 2
  Lanes count;  // a word that has k in its low bits
};

/// Away from the nearest multiple of pi (half = 0), or from the nearest point in the middle of two (half = 1/2). pi is
/// taken in three parts: the first product leaves no error, the second that of one rounding, the third none that
/// counts.
Reduced reduce(Lanes x, double half) {
  const Lanes shifted = half == 0 ? fma(x, std::numbers::inv_pi, number(x, kShift))
                                  : fma(x, std::numbers::inv_pi, number(x, -half)) + kShift;
  const Lanes k = half == 0 ? shifted - kShift : shifted - kShift + half;
  Lanes rest = fnma(k, 0x1.921fb6p+1, x);
  rest = fnma(k, -0x1.777a5cp-24, rest);
  rest = fnma(k, -0x1.ee59dap-49, rest);
  return {rest, bits(shifted)};
}

/// The same without fma: products of the first part are exact in f64.
Reduced reduce_wide(Lanes x, double half) {
  const Lanes wide = to_double(x);
  const Lanes shifted = (wide * std::numbers::inv_pi - half) + kWideShift;
  const Lanes k = shifted - kWideShift + half;
  const Lanes rest = (wide - k * 0x1.921fb544p+1) - k * 0x1.0b4611a626331p-33;
  return {to_single(rest), low_words(shifted)};
}

/// sin(rest), negative for an odd count.
Lanes sine(const Reduced& to) {
  const Lanes square = to.rest * to.rest;
  const Lanes magnitude = fma(to.rest * square, polynomial(square, kSin), to.rest);
  const Lanes within_one = at_most(at_least(magnitude, -1), 1);  // rounding may pass it
  return as_float(bits(within_one) ^ (to.count << 31));
}

/// Beyond this, pi would need more parts.
constexpr double kLimit = 0x1p17;

Lanes exact_beyond_limit(Lanes x, Lanes magnitude, Lanes result, Prim prim) {
  return replace_rarely(kLimit < magnitude, result, [&] {
    if (can_call(x)) return call_lanes(prim, Dtype::f32, {&x, 1});
    const FarFromZero far = reduce_far(magnitude, prim == Prim::cos);
    const Lanes sine_of_rest = sine({x.with(far.rest), x.with(far.count)});
    return prim == Prim::cos ? -sine_of_rest : as_float(bits(sine_of_rest) ^ (bits(x) & kSign));
  });
}

}  // namespace

Lanes sin_f32(Lanes x) {
  // By the magnitude, since sums would turn -0 into 0.
  const Lanes magnitude = abs(x);
  const Lanes result = sine(x.fma() ? reduce(magnitude, 0) : reduce_wide(magnitude, 0));
  const Lanes odd = as_float(bits(result) ^ (bits(x) & kSign));
  return exact_beyond_limit(x, magnitude, odd, Prim::sin);
}

Lanes cos_f32(Lanes x) {
  // cos(k pi + pi / 2 + r) = -sin(k pi + r)
  const Lanes result = -sine(x.fma() ? reduce(x, 0.5) : reduce_wide(x, 0.5));
  return exact_beyond_limit(x, abs(x), result, Prim::cos);
}

Lanes atan2_f32(Lanes y, Lanes x) {
  const Lanes height = abs(y);
  const Lanes width = abs(x);
  const Lanes steep = width < height;
  const Lanes larger = at_least(select(steep, height, width), 0x1p-149);  // 0 / 0 becomes 0
  const Lanes smaller = select(steep, width, height);
  const Lanes q = select(smaller == larger, 1.0, smaller / larger);  // also infinity / infinity
  const Lanes square = q * q;
  const Lanes angle = fma(q * square, polynomial(square, kAtan), q);  // up to pi / 4

  // From the first half quadrant to the first quadrant, then to the second: pi / 2 - angle, pi - angle, in two parts.
  const Lanes quadrant = select(steep, (0x1.921fb6p+0 - angle) + -0x1.777a5cp-25, angle);
  const Lanes left = bits(x) < 0;  // -0 as well
  const Lanes result = select(left, (0x1.921fb6p+1 - quadrant) + -0x1.777a5cp-24, quadrant);
  return copysign(result, y);
}

}  // namespace tenon::codegen
