// The mathematics of f64 for machines whose code can call no functions, which are GPUs: emitted in place. The target
// must have fma.
//
// The error is at most this many units of the last place; tests/emulated_gpu/functions_test.cpp holds samples to it:
//   exp, expm1, log, log1p  2        sin, cos, atan2, tanh, erf  4        pow  8
// Infinities, NaN, signed zeros and subnormal numbers are right. Remainders and powers of integers are exact.
#pragma once

#include "codegen/math/llvm_lanes.h"

namespace tenon::codegen {

Lanes exp_f64(Lanes x);
Lanes exp_normal_f64(Lanes x);
Lanes expm1_f64(Lanes x);
Lanes log_f64(Lanes x);
Lanes log1p_f64(Lanes x);
Lanes sin_f64(Lanes x);
Lanes cos_f64(Lanes x);
Lanes tanh_f64(Lanes x);
Lanes erf_f64(Lanes x);
Lanes atan2_f64(Lanes y, Lanes x);
Lanes pow_f64(Lanes x, Lanes y);
Lanes rem_f64(Lanes x, Lanes y);
/// Of integers, by repeated squaring.
Lanes pow_integer(Lanes base, Lanes exponent, bool is_signed);

/// Any of these, by its primitive.
Lanes emit_without_calls(Prim prim, Dtype dtype, std::span<const Lanes> operands);

}  // namespace tenon::codegen
