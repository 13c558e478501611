// exp and expm1. With k the integer nearest to x / ln 2 and r = x - k ln 2, exp(x) = 2^k exp(r), |r| <= ln 2 / 2.
#include <array>

#include "codegen/llvm_math.h"

namespace tenon::codegen {
namespace {

constexpr double kLog2E = 0x1.715476p+0;
// ln 2 in two parts. The first has so few bits that its product with k is exact with or without fma.
constexpr double kLn2High = 0x1.63p-1;
constexpr double kLn2Low = -0x1.bd0106p-13;
constexpr double kVanishing = -104;  // exp of it is less than half of the smallest number
// Adding this rounds to an integer, which is then found in the low bits of the word.
constexpr double kShift = 0x1.8p+23;

// (exp(r) - 1 - r) / r^2: the first set has the least error relative to exp(r), the second relative to exp(r) - 1.
constexpr auto kExp = std::to_array({0x1p-1, 0x1.55549p-3, 0x1.5554cep-5, 0x1.123ac4p-7, 0x1.6d6aaap-10});
constexpr auto kExpm1 = std::to_array({0x1p-1, 0x1.5554b2p-3, 0x1.5554c8p-5, 0x1.12268p-7, 0x1.6d723p-10});

struct Reduced {
  Lanes shifted;  // kShift + bias + k
  Lanes power;    // k
  Lanes rest;
};

Reduced reduce(Lanes x, int bias) {
  const Lanes shifted = fma(x, kLog2E, number(x, kShift + bias));
  const Lanes k = shifted - (kShift + bias);
  return {shifted, k, fnma(k, kLn2Low, fnma(k, kLn2High, x))};
}

Lanes expm1_of_rest(Lanes r) { return fma(r * r, polynomial(r, kExpm1), r); }

}  // namespace

Lanes scale_by_power(Lanes p, Lanes biased) {
  // In two steps, since 2^k alone may be out of range where the product is not; the first is exact.
  const Lanes half = shift_right(biased, 1);
  return p * as_float(half << 23) * as_float((biased - half) << 23);
}

namespace {

/// exp, with 0 for what is below `vanishing`.
Lanes exp_from(Lanes x, double vanishing) {
  // Beyond these limits the result is 0 or infinity, and comes out so. But a number that is rounded down to 0 takes a
  // processor twenty times as long as one that is 0, and masks are made of -inf.
  const bool scales = has_times_power_of_two(x);  // 0 by any power: what vanishes needs no limit
  const Reduced to = reduce(at_most(scales ? x : at_least(x, vanishing), 89), 254);
  const Lanes power = fma(fma(polynomial(to.rest, kExp), to.rest, 1.0), to.rest, 1.0);
  const Lanes p = select(not_less(x, number(x, vanishing)), power, 0.0);
  return scales ? times_power_of_two(p, to.power) : scale_by_power(p, bits(to.shifted));
}

}  // namespace

Lanes exp_f32(Lanes x) { return exp_from(x, kVanishing); }
Lanes exp_normal_f32(Lanes x) { return exp_from(x, vanishing_exponent(Dtype::f32)); }

Lanes expm1_moderate(Lanes x) {
  const Reduced to = reduce(x, 127);
  const Lanes power = as_float(bits(to.shifted) << 23);
  return fma(power, expm1_of_rest(to.rest), power - 1);
}

Lanes expm1_f32(Lanes x) {
  const Reduced to = reduce(at_most(at_least(x, -18), 89), 126);
  const Lanes e = expm1_of_rest(to.rest);
  // 2^k e + (2^k - 1), by half of it: 2^128 does not exist. Halving would cost small results their last bit.
  const Lanes power = as_float(bits(to.shifted) << 23);
  const Lanes half = fma(power, e, power - 0.5);
  return copysign(select(to.shifted == kShift + 126, e, half + half), x);
}

}  // namespace tenon::codegen
