// Arithmetic on LLVM values that reads like arithmetic: one value or a vector of lanes, whatever the type says.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <array>
#include <concepts>
#include <functional>
#include <span>

#include "kernel/scalar/scalar.h"
#include "native/target.h"

namespace tenon::codegen {

/// Where code goes. The builder must insert at the end of a block that has no terminator yet: some functions end it and
/// leave the builder in a new one. Its fast-math flags must be clear.
struct EmitContext {
  llvm::IRBuilderBase& builder;
  MathOptions options;
};

/// A value in an EmitContext that outlives it. Arithmetic is IEEE on floats and wraps on integers; comparisons are
/// ordered on floats, signed on integers, and give lanes of i1. A C++ number beside lanes is a constant of their type.
struct Lanes {
  const EmitContext* context = nullptr;
  llvm::Value* value = nullptr;

  llvm::IRBuilderBase& builder() const { return context->builder; }
  llvm::Type* type() const { return value->getType(); }
  bool is_float() const { return type()->isFPOrFPVectorTy(); }
  bool fma() const { return context->options.fma; }
  Lanes with(llvm::Value* other) const { return {context, other}; }
};

template <class N>
concept Number = std::integral<N> || std::floating_point<N>;

/// 0 for a scalar type.
unsigned lane_count(llvm::Type* type);
/// `element`, as often as `like` has lanes.
llvm::Type* with_lanes_of(llvm::Type* like, llvm::Type* element);

/// A constant of x's type.
Lanes constant(Lanes x, double number);
Lanes constant(Lanes x, int64_t number);
template <std::floating_point N>
Lanes number(Lanes x, N n) {
  return constant(x, static_cast<double>(n));
}
template <std::integral N>
Lanes number(Lanes x, N n) {
  return x.is_float() ? constant(x, static_cast<double>(n)) : constant(x, static_cast<int64_t>(n));
}

Lanes operator+(Lanes a, Lanes b);
Lanes operator-(Lanes a, Lanes b);
Lanes operator*(Lanes a, Lanes b);
Lanes operator/(Lanes a, Lanes b);  // floats alone
Lanes operator-(Lanes a);
Lanes operator&(Lanes a, Lanes b);
Lanes operator|(Lanes a, Lanes b);
Lanes operator^(Lanes a, Lanes b);
Lanes operator<<(Lanes a, int bits);
Lanes operator<(Lanes a, Lanes b);
Lanes operator<=(Lanes a, Lanes b);
Lanes operator==(Lanes a, Lanes b);
Lanes operator!=(Lanes a, Lanes b);  // true for NaN

#define TENON_LANES_WITH_NUMBER(op) \
  template <Number N>               \
  Lanes operator op(Lanes a, N b) { \
    return a op number(a, b);       \
  }                                 \
  template <Number N>               \
  Lanes operator op(N a, Lanes b) { \
    return number(b, a) op b;       \
  }
TENON_LANES_WITH_NUMBER(+)
TENON_LANES_WITH_NUMBER(-)
TENON_LANES_WITH_NUMBER(*)
TENON_LANES_WITH_NUMBER(/)
TENON_LANES_WITH_NUMBER(&)
TENON_LANES_WITH_NUMBER(|)
TENON_LANES_WITH_NUMBER(^)
TENON_LANES_WITH_NUMBER(<)
TENON_LANES_WITH_NUMBER(<=)
TENON_LANES_WITH_NUMBER(==)
TENON_LANES_WITH_NUMBER(!=)
#undef TENON_LANES_WITH_NUMBER

Lanes operator!(Lanes mask);
Lanes select(Lanes mask, Lanes a, Lanes b);
template <Number N>
Lanes select(Lanes mask, N a, Lanes b) {
  return select(mask, number(b, a), b);
}
template <Number N>
Lanes select(Lanes mask, Lanes a, N b) {
  return select(mask, a, number(a, b));
}
Lanes below(Lanes a, Lanes b);     // a < b as unsigned integers
Lanes not_less(Lanes a, Lanes b);  // !(a < b), by one comparison: true for NaN
Lanes shift_right(Lanes a, int bits);
Lanes shift_right_signed(Lanes a, int bits);

/// a * b + c: fused where the target can, else rounded twice.
Lanes fma(Lanes a, Lanes b, Lanes c);
/// c - a * b, likewise.
Lanes fnma(Lanes a, Lanes b, Lanes c);
template <Number N>
Lanes fma(Lanes a, N b, Lanes c) {
  return fma(a, number(a, b), c);
}
template <Number N>
Lanes fma(Lanes a, Lanes b, N c) {
  return fma(a, b, number(a, c));
}
template <Number N>
Lanes fnma(Lanes a, N b, Lanes c) {
  return fnma(a, number(a, b), c);
}
/// c[0] + c[1] x + c[2] x^2 ...
Lanes polynomial(Lanes x, std::span<const double> coefficients);

/// Whether times_power_of_two() may be called for x.
bool has_times_power_of_two(Lanes x);
/// x * 2^k for floats k that are integers, rounded once.
Lanes times_power_of_two(Lanes x, Lanes k);

/// Whether looking up is fast.
bool has_tables(Lanes x);
using FloatTable = std::array<float, 32>;
/// table[index % 32] of words.
Lanes look_up(Lanes index, const FloatTable& table);

Lanes abs(Lanes x);
Lanes floor(Lanes x);
Lanes trunc(Lanes x);
Lanes copysign(Lanes magnitude, Lanes sign);
/// x limited from above or below by a number; NaN stays NaN.
Lanes at_most(Lanes x, double limit);
Lanes at_least(Lanes x, double limit);

Lanes bits(Lanes x);       // the word of a float
Lanes as_float(Lanes x);   // and back
Lanes to_float(Lanes x);   // the value of an i32 as f32
Lanes to_double(Lanes x);  // f32 as f64
Lanes to_single(Lanes x);  // f64 as f32, rounded
Lanes low_words(Lanes x);  // the low 32 bits of the words of f64

/// `fast` with the lanes of `mask` replaced by those of slow(), which is computed only if there is any such lane.
Lanes replace_rarely(Lanes mask, Lanes fast, const std::function<Lanes()>& slow);

/// Whether the code may call functions of the process, which GPUs cannot.
bool can_call(Lanes x);
/// The function over lanes of a primitive (lane_functions.h); where none can be called, code of its own
/// (llvm_math_f64.h).
Lanes call_lanes(Prim prim, Dtype dtype, std::span<const Lanes> operands);

}  // namespace tenon::codegen
