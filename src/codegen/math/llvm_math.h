// The mathematics of f32, emitted in place: lanes in, lanes out, without gathers or calls, and with tables only where
// they lie in registers.
//
// The error is at most this many units of the last place, with and without fma; tests/codegen/math_accuracy_test.cpp
// holds a dense sample of all arguments to it, and on request every float:
//   exp, exp_normal, expm1, log, log1p, sin, cos, pow, atan2  2        tanh, erf  3
// Infinities, NaN, signed zeros and subnormal numbers are right, both as operands and as results. A lane's value does
// not depend on its neighbours. sin and cos beyond 2^17 leave the straight line: those lanes call a function,
// where there are any. On GPUs
// exp_normal_below_0 has 4.
#pragma once

#include "codegen/math/llvm_lanes.h"

namespace tenon::codegen {

Lanes exp_f32(Lanes x);
Lanes exp_normal_f32(Lanes x);
Lanes exp_normal_below_0_f32(Lanes x);  // of 0 and less, and NaN
Lanes expm1_f32(Lanes x);
Lanes log_f32(Lanes x);
Lanes log1p_f32(Lanes x);
Lanes sin_f32(Lanes x);
Lanes cos_f32(Lanes x);
Lanes tanh_f32(Lanes x);
Lanes erf_f32(Lanes x);
Lanes pow_f32(Lanes x, Lanes y);
Lanes atan2_f32(Lanes y, Lanes x);
/// Exact, as a remainder is.
Lanes rem_f32(Lanes x, Lanes y);

/// A scalar that lanes are divided by, and what helps to divide by it.
struct OneDivisor {
  Lanes value;
  Lanes reciprocal;
  Lanes reach;
  Lanes zero;
};
OneDivisor prepare_divisor_f32(Lanes b);
/// a / b of lanes by one number, with the bits of a division. The target must have fma.
Lanes div_by_one_f32(Lanes a, const OneDivisor& b);

/// |x| of more than 2^17 as (count + rest / pi) pi, or with `half` (count + 1/2 + rest / pi) pi; |rest| <= pi / 2. The
/// count is known modulo 2. The rest of infinities and NaN is NaN.
struct FarFromZero {
  llvm::Value* rest = nullptr;
  llvm::Value* count = nullptr;  // words
};
FarFromZero reduce_far(Lanes magnitude, bool half);

/// p * 2^k for p near 1 and k of -250 to 250, rounded once where the result is subnormal. `biased` has k + 254 in its
/// low 23 bits and a multiple of 1024 above them.
Lanes scale_by_power(Lanes p, Lanes biased);

/// exp(x) - 1 for x of -80 to 80; loses the sign of zero.
Lanes expm1_moderate(Lanes x);

}  // namespace tenon::codegen
