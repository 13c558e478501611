// exp and expm1. With k the integer nearest to x / ln 2 and r = x - k ln 2, exp(x) = 2^k exp(r), |r| <= ln 2 / 2.
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <array>
#include <limits>

#include "codegen/math/llvm_math.h"

namespace tenon::codegen {
namespace {

constexpr double kLog2E = 0x1.715476p+0;
// ln 2 in two parts. The first has so few bits that its product with k is exact with or without fma.
constexpr double kLn2High = 0x1.63p-1;
constexpr double kLn2Low = -0x1.bd0106p-13;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLargest = 89;      // exp of it is infinite
constexpr double kVanishing = -104;  // exp of it is less than half of the smallest number
// Adding this rounds to an integer, which is then found in the low bits of the word.
constexpr double kShift = 0x1.8p+23;

// (exp(r) - 1 - r) / r^2: the first set has the least error relative to exp(r), the second relative to exp(r) - 1.
constexpr auto kExp = std::to_array({0x1p-1, 0x1.55549p-3, 0x1.5554cep-5, 0x1.123ac4p-7, 0x1.6d6aaap-10});
constexpr auto kExpm1 = std::to_array({0x1p-1, 0x1.5554b2p-3, 0x1.5554c8p-5, 0x1.12268p-7, 0x1.6d723p-10});

// 2^(i/32). Adding kRootShift rounds to 32nds, whose number is then found in the low bits of the word.
constexpr FloatTable kRoots = {
    0x1p+0f,        0x1.059b0ep+0f, 0x1.0b5586p+0f, 0x1.11301ep+0f, 0x1.172b84p+0f, 0x1.1d4874p+0f, 0x1.2387a6p+0f,
    0x1.29e9ep+0f,  0x1.306fep+0f,  0x1.371a74p+0f, 0x1.3dea64p+0f, 0x1.44e086p+0f, 0x1.4bfdaep+0f, 0x1.5342b6p+0f,
    0x1.5ab07ep+0f, 0x1.6247ecp+0f, 0x1.6a09e6p+0f, 0x1.71f75ep+0f, 0x1.7a1148p+0f, 0x1.82589ap+0f, 0x1.8ace54p+0f,
    0x1.93737cp+0f, 0x1.9c4918p+0f, 0x1.a5503cp+0f, 0x1.ae89fap+0f, 0x1.b7f77p+0f,  0x1.c199bep+0f, 0x1.cb720ep+0f,
    0x1.d5818ep+0f, 0x1.dfc974p+0f, 0x1.ea4afap+0f, 0x1.f50766p+0f};
constexpr double kRootShift = 0x1.8p+18;
// exp(r) - 1 = r (kSlope + r / 2) for |r| <= h = ln 2 / 64, with the least error: r^3 / 6 is about h^2 / 8 r.
constexpr double kSlope = 0x1.0000f6p+0;

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

/// x, which is at most `most`, with limits where the result is 0 or infinity, and comes out so. But a number that is
/// rounded down to 0 takes a processor twenty times as long as one that is 0, and masks are made of -inf. Where a power
/// scales in one step it makes 0 of 0, and what vanishes needs no limit.
Lanes within(Lanes x, double vanishing, double most, bool scales) {
  const Lanes above = scales ? x : at_least(x, vanishing);
  return most <= kLargest ? above : at_most(above, kLargest);
}

/// exp of what is at most `most`, with 0 for what is below `vanishing`.
Lanes exp_from(Lanes x, double vanishing, double most) {
  const bool scales = has_times_power_of_two(x);
  const Reduced to = reduce(within(x, vanishing, most, scales), 254);
  const Lanes power = fma(fma(polynomial(to.rest, kExp), to.rest, 1.0), to.rest, 1.0);
  const Lanes p = select(not_less(x, number(x, vanishing)), power, 0.0);
  return scales ? times_power_of_two(p, to.power) : scale_by_power(p, bits(to.shifted));
}

/// The same by a table of roots and a shorter polynomial: fewer instructions, and almost twice the error.
Lanes exp_by_roots(Lanes x, double vanishing, double most) {
  const bool scales = has_times_power_of_two(x);
  const Lanes limited = within(x, vanishing, most, scales);
  const Lanes shifted = fma(limited, kLog2E, number(x, kRootShift));
  const Lanes power = shifted - kRootShift;  // in 32nds
  const Lanes r = fnma(power, kLn2Low, fnma(power, kLn2High, limited));
  const Lanes root = look_up(bits(shifted), kRoots);
  const Lanes all = fma(root, r * fma(r, 0.5, number(r, kSlope)), root);
  const Lanes p = select(not_less(x, number(x, vanishing)), all, 0.0);
  // By the integer below the power.
  return scales ? times_power_of_two(p, power) : scale_by_power(p, shift_right(bits(shifted), 5) + 254);
}

Lanes exp_normal_from(Lanes x, double most) {
  constexpr double kLeast = vanishing_exponent(Dtype::f32);
  return has_tables(x) ? exp_by_roots(x, kLeast, most) : exp_from(x, kLeast, most);
}

/// 2^x of -1/2 to 1/2 by the instruction that GPUs have, with an error of 2^-22.
Lanes power_of_two(Lanes x) {
  llvm::IRBuilderBase& b = x.builder();
  const auto one = [&](llvm::Value* each) {
    return b.CreateIntrinsic(llvm::Intrinsic::nvvm_ex2_approx_ftz_f, {}, {each});
  };
  const unsigned lanes = lane_count(x.type());
  if (lanes == 0) return x.with(one(x.value));
  llvm::Value* all = llvm::PoisonValue::get(x.type());
  for (unsigned i = 0; i < lanes; ++i)
    all = b.CreateInsertElement(all, one(b.CreateExtractElement(x.value, i)), i);
  return x.with(all);
}

/// exp of 0 and less on a GPU: 4 units of the last place at most.
Lanes exp_by_instruction(Lanes x) {
  constexpr double kLeast = vanishing_exponent(Dtype::f32);
  const Reduced to = reduce(at_least(x, kLeast), 127);
  const Lanes power = as_float(bits(to.shifted) << 23);
  return select(not_less(x, number(x, kLeast)), power_of_two(to.rest * kLog2E) * power, 0.0);
}

}  // namespace

Lanes exp_f32(Lanes x) { return exp_from(x, kVanishing, kInfinity); }
Lanes exp_normal_f32(Lanes x) { return exp_normal_from(x, kInfinity); }
Lanes exp_normal_below_0_f32(Lanes x) { return can_call(x) ? exp_normal_from(x, 0) : exp_by_instruction(x); }

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
