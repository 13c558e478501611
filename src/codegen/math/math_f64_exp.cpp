// exp, log and what is made of them, of f64.
#include <array>
#include <limits>
#include <utility>

#include "codegen/math/llvm_math_f64.h"

namespace tenon::codegen {
namespace {

namespace wide {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kShift = 0x1.8p+52;  // adding this rounds to an integer, found in the low bits of the word
constexpr int64_t kShiftedZero = int64_t{1} << 51;
constexpr int64_t kMantissa = (int64_t{1} << 52) - 1;
constexpr int64_t kSqrtHalf = 0x3fe6a09e667f3bcd;  // the word of sqrt(1/2)
constexpr int64_t kSign = std::numeric_limits<int64_t>::min();
constexpr int kBias = 1023;

constexpr double kLog2E = 0x1.71547652b82fep+0;
// ln 2 in two parts: by fma the product of the first with an exponent loses nothing that counts.
constexpr double kLn2High = 0x1.62e42fefa39efp-1;
constexpr double kLn2Low = 0x1.abc9e3b39803fp-56;
// And in two parts of which the first has 32 bits: its product with an exponent is exact by itself.
constexpr double kLn2Upper = 0x1.62e42feep-1;
constexpr double kLn2Lower = 0x1.a39ef35793c76p-33;

// (exp(r) - 1 - r) / r^2 in r, for |r| <= ln 2 / 2.
constexpr auto kExp =
    std::to_array({0x1p-1, 0x1.5555555555555p-3, 0x1.5555555555555p-5, 0x1.1111111111111p-7, 0x1.6c16c16c16c17p-10,
                   0x1.a01a01a01a01ap-13, 0x1.a01a01a01a01ap-16, 0x1.71de3a556c734p-19, 0x1.27e4fb7789f5cp-22,
                   0x1.ae64567f544e4p-26, 0x1.1eed8eff8d898p-29, 0x1.6124613a86d09p-33});
// (log(1 + f) - 2 s) / s^3 in s^2, where s = f / (2 + f): the series of the inverse hyperbolic tangent.
constexpr auto kLog =
    std::to_array({0x1.5555555555555p-1, 0x1.999999999999ap-2, 0x1.2492492492492p-2, 0x1.c71c71c71c71cp-3,
                   0x1.745d1745d1746p-3, 0x1.3b13b13b13b14p-3, 0x1.1111111111111p-3, 0x1.e1e1e1e1e1e1ep-4,
                   0x1.af286bca1af28p-4, 0x1.8618618618618p-4, 0x1.642c8590b2164p-4});

/// 2^k of words from -1022 to 1023.
Lanes power(Lanes k) { return as_float((k + kBias) << 52); }

/// p * 2^k, rounded once where the result is subnormal. In two steps, since 2^k alone may be out of range.
Lanes scale(Lanes p, Lanes k) {
  const Lanes half = shift_right_signed(k, 1);
  return p * power(half) * power(k - half);
}

struct Reduced {
  Lanes k;      // a word
  Lanes whole;  // the same as f64
  Lanes rest;
};

Reduced reduce(Lanes x) {
  const Lanes shifted = fma(x, kLog2E, number(x, kShift));
  const Lanes whole = shifted - kShift;
  const Lanes k = (bits(shifted) & kMantissa) - kShiftedZero;
  return {k, whole, fnma(whole, kLn2Low, fnma(whole, kLn2High, x))};
}

Lanes expm1_of_rest(Lanes r) { return fma(r * r, polynomial(r, kExp), r); }

/// exp(x + more), where `more` is small beside x.
Lanes exp_of_sum(Lanes x, Lanes more) {
  const Reduced to = reduce(at_most(at_least(x, -746), 710));
  return scale(expm1_of_rest(to.rest + more) + 1, to.k);
}

/// x = 2^k (1 + f), 1 + f between sqrt(1/2) and sqrt(2), for finite numbers above 0.
std::pair<Lanes, Lanes> take_apart(Lanes x) {
  const Lanes word = select(x < 0x1p-1022, bits(x * 0x1p54) - (int64_t{54} << 52), bits(x));
  const Lanes k = shift_right_signed(word - kSqrtHalf, 52);
  return {k, as_float(word - (k << 52)) - 1};
}

/// A word as f64, exactly: it has few bits.
Lanes to_wide(Lanes k) {
  return k.with(k.builder().CreateSIToFP(k.value, with_lanes_of(k.type(), k.builder().getDoubleTy())));
}

/// k ln 2 + log(1 + f)
Lanes log_of_parts(Lanes k, Lanes f) {
  const Lanes whole = to_wide(k);
  const Lanes s = f / (f + 2);
  const Lanes half_square = f * f * 0.5;
  const Lanes square = s * s;
  const Lanes series = square * polynomial(square, kLog);
  const Lanes tail = fma(s, half_square + series, whole * kLn2Lower);
  return whole * kLn2Upper - ((half_square - tail) - f);
}

/// `regular` where x is positive and finite; what log is elsewhere.
Lanes with_ends_of_log(Lanes x, Lanes regular) {
  const Lanes above = select(x < kInfinity, regular, x);  // infinity and NaN
  return select(x <= 0, select(x == 0, number(x, -kInfinity), kNaN), above);
}

/// log(x) as the sum of two, the second small beside the first, for finite numbers above 0.
std::pair<Lanes, Lanes> precise_log(Lanes x) {
  const auto [k, f] = take_apart(x);
  const Lanes whole = to_wide(k);
  const Lanes divisor = f + 2;
  const Lanes lost = f - (divisor - 2);
  const Lanes s = f / divisor;
  const Lanes s_rest = (fnma(s, divisor, f) - s * lost) / divisor;
  const Lanes square = s * s;
  const Lanes series = s * square * polynomial(square, kLog);
  const Lanes large = whole * kLn2Upper;  // exact
  const Lanes twice = s + s;
  const Lanes high = large + twice;
  // What the sum lost: of the two, whichever is larger.
  const Lanes part = high - large;
  const Lanes low = (large - (high - part)) + (twice - part);
  const Lanes tail = fma(whole, kLn2Lower, series + (s_rest + s_rest) + low);
  const Lanes all = high + tail;
  return {all, tail - (all - high)};
}

}  // namespace wide
}  // namespace

Lanes exp_f64(Lanes x) { return wide::exp_of_sum(x, number(x, 0.0)); }

Lanes exp_normal_f64(Lanes x) {
  return select(not_less(x, number(x, vanishing_exponent(Dtype::f64))), exp_f64(x), 0.0);
}

Lanes expm1_f64(Lanes x) {
  const wide::Reduced to = wide::reduce(at_most(at_least(x, -40), 710));
  const Lanes e = wide::expm1_of_rest(to.rest);
  // 2^k e + (2^k - 1), by half of it: 2^1024 does not exist. Halving would cost small results their last bit.
  const Lanes power = wide::power(to.k - 1);
  const Lanes half = fma(power, e, power - 0.5);
  return copysign(select(to.k == 0, e, half + half), x);
}

Lanes log_f64(Lanes x) {
  const auto [k, f] = wide::take_apart(x);
  return wide::with_ends_of_log(x, wide::log_of_parts(k, f));
}

Lanes log1p_f64(Lanes x) {
  const Lanes u = x + 1;
  const Lanes lost = x - (u - 1);  // by rounding u; exact where it matters
  const auto [k, f] = wide::take_apart(u);
  // 2^-k does not exist for the largest k, where nothing that counts was lost.
  const Lanes inverse = wide::power(-select(k < 1000, k, int64_t{1000}));
  return copysign(wide::with_ends_of_log(u, wide::log_of_parts(k, fma(lost, inverse, f))), x);
}

Lanes tanh_f64(Lanes x) {
  const Lanes magnitude = at_most(abs(x), 20);  // from there on it is 1
  const Lanes e = expm1_f64(magnitude + magnitude);
  return copysign(e / (e + 2), x);
}

Lanes pow_f64(Lanes x, Lanes y) {
  const Lanes magnitude = abs(x);
  // A limit that changes no result but 1^infinity, which is 1.
  const Lanes exponent = at_most(at_least(y, -0x1p70), 0x1p70);
  const auto [high, low] = wide::precise_log(magnitude);
  // The ends are their own logarithm, and nothing is behind them.
  const Lanes log = select(magnitude < wide::kInfinity, select(magnitude == 0, -wide::kInfinity, high), magnitude);
  const Lanes product = exponent * log;
  const Lanes rest = fma(exponent, low, fma(exponent, log, -product));
  const Lanes power = wide::exp_of_sum(product, select(abs(product) < 800, rest, 0.0));

  const Lanes half = y * 0.5;
  const Lanes is_whole = floor(y) == y;
  const Lanes is_odd = is_whole & (floor(half) != half);
  const Lanes sign = select(is_odd, bits(x) & wide::kSign, number(bits(x), int64_t{0}));
  const Lanes undefined = (x < 0) & (magnitude < wide::kInfinity) & !is_whole;
  const Lanes signed_power = select(undefined, wide::kNaN, as_float(bits(power) ^ sign));
  return select((y == 0) | (x == 1), 1.0, signed_power);
}

}  // namespace tenon::codegen
