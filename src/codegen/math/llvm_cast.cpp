// Conversions between dtypes, and between registers and memory.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/PatternMatch.h>

#include <cmath>
#include <limits>

#include "base/fail.h"
#include "codegen/math/llvm_scalar.h"

namespace tenon::codegen {
namespace {

llvm::Type* of_lanes(llvm::Value* like, llvm::Type* element) { return with_lanes_of(like->getType(), element); }

Lanes words(const EmitContext& context, llvm::Value* shorts) {
  llvm::IRBuilderBase& b = context.builder;
  return {&context, b.CreateZExt(shorts, of_lanes(shorts, b.getInt32Ty()))};
}

llvm::Value* shorts(Lanes words) {
  llvm::IRBuilderBase& b = words.builder();
  return b.CreateTrunc(words.value, of_lanes(words.value, b.getInt16Ty()));
}

Lanes is_nan(Lanes x) { return x.with(x.builder().CreateFCmpUNO(x.value, x.value)); }

/// f16 to f32 by integers. Shifted into the place of an f32, the exponent is too small by 112; multiplying mends that
/// for subnormal numbers too.
Lanes widen_f16(Lanes half) {
  const Lanes magnitude = half & 0x7fff;
  const Lanes finite = bits(as_float(magnitude << 13) * 0x1p112);
  const Lanes special = (magnitude << 13) | 0x7f800000;
  return as_float(select(magnitude < 0x7c00, finite, special) | ((half & 0x8000) << 16));
}

/// f32 to f16 by integers.
Lanes narrow_f16(Lanes x) {
  const Lanes word = bits(x);
  const Lanes magnitude = word & 0x7fffffff;
  const Lanes odd = shift_right(magnitude, 13) & 1;
  const Lanes normal = shift_right(magnitude + odd - (0x38000000 - 0xfff), 13);
  const Lanes subnormal = bits(as_float(magnitude) + 0.5) - 0x3f000000;  // the sum rounds at the right bit
  const Lanes nan = (shift_right(magnitude, 13) & 0x1ff) | 0x7e00;
  Lanes result = select(magnitude < 0x38800000, subnormal, normal);
  result = select(magnitude < 0x477ff000, result, 0x7c00);  // from halfway beyond the largest on
  result = select(number(magnitude, 0x7f800000) < magnitude, nan, result);
  return result | (shift_right(word, 16) & 0x8000);
}

/// The word of x rounded to its upper half; the lower half is not cleared.
Lanes round_bf16(Lanes x) {
  const Lanes word = bits(x);
  const Lanes odd = shift_right(word, 16) & 1;
  return select(is_nan(x), word | 0x400000, word + odd + 0x7fff);
}

/// f64 to f32 so that rounding again to a half type is as good as rounding once: an inexact result is made odd.
Lanes round_to_odd(Lanes x) {
  const Lanes nearest = to_single(x);
  const Lanes back = to_double(nearest);
  const Lanes inexact = (back < x) | (x < back);
  const Lanes away = abs(x) < abs(back);
  const Lanes word = bits(nearest);
  const Lanes odd = as_float(select(away, word - 1, word) | 1);
  // Infinity stays, as it would with a rounding to nearest.
  return select(inexact & (abs(nearest) < std::numeric_limits<double>::infinity()), odd, nearest);
}

/// To fewer than 32 bits: no machine has vectors of that, and LLVM would take lanes one by one.
llvm::Value* float_to_narrow(llvm::IRBuilderBase& b, llvm::Value* value, llvm::Type* type, bool is_signed) {
  const unsigned bits = type->getScalarSizeInBits();
  const double low = is_signed ? -std::exp2(bits - 1) : 0;
  const double high = std::exp2(is_signed ? bits - 1 : bits) - 1;
  const auto number = [&](double x) { return llvm::ConstantFP::get(value->getType(), x); };
  llvm::Value* within = b.CreateSelect(b.CreateFCmpOLT(value, number(low)), number(low), value);
  within = b.CreateSelect(b.CreateFCmpOGT(within, number(high)), number(high), within);
  within = b.CreateSelect(b.CreateFCmpUNO(value, value), number(0), within);
  return b.CreateTrunc(b.CreateFPToSI(within, of_lanes(value, b.getInt32Ty())), type);
}

llvm::Value* float_to_integer(llvm::IRBuilderBase& b, llvm::Value* value, llvm::Type* type, bool is_signed) {
  if (type->getScalarSizeInBits() < 32) return float_to_narrow(b, value, type, is_signed);
  const auto id = is_signed ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
  return b.CreateIntrinsic(id, {type, value->getType()}, {value});
}

llvm::Value* integer_to_float(llvm::IRBuilderBase& b, Dtype from, llvm::Value* value, llvm::Type* element) {
  llvm::Type* type = of_lanes(value, element);
  return is_signed_integer(from) ? b.CreateSIToFP(value, type) : b.CreateUIToFP(value, type);
}

/// To f32, f64 or a half type.
llvm::Value* cast_to_float(const EmitContext& context, Dtype from, Dtype to, llvm::Value* value) {
  llvm::IRBuilderBase& b = context.builder;
  const bool to_half = compute_dtype(to) != to;
  if (to_half && (from == Dtype::f64 || byte_size(from) >= 4) && from != Dtype::f32) {
    // The integer may not fit an f32, and would round twice.
    llvm::Value* wide = from == Dtype::f64 ? value : integer_to_float(b, from, value, b.getDoubleTy());
    return round_to(context, to, round_to_odd({&context, wide}).value);
  }
  if (from == Dtype::f32) {
    return to_half ? round_to(context, to, value) : to == Dtype::f64 ? to_double({&context, value}).value : value;
  }
  if (from == Dtype::f64) {
    return to == Dtype::f64 ? value : to_single({&context, value}).value;
  }
  llvm::Value* result = integer_to_float(b, from, value, to == Dtype::f64 ? b.getDoubleTy() : b.getFloatTy());
  return to_half ? round_to(context, to, result) : result;
}

}  // namespace

llvm::Value* emit_cast(const EmitContext& context, Dtype from, Dtype to, llvm::Value* value) {
  llvm::IRBuilderBase& b = context.builder;
  from = compute_dtype(from);
  if (to == Dtype::boolean) {
    llvm::Constant* zero = llvm::Constant::getNullValue(value->getType());
    return from == Dtype::boolean ? value : is_float(from) ? b.CreateFCmpUNE(value, zero) : b.CreateICmpNE(value, zero);
  }
  if (is_float(to)) {
    return cast_to_float(context, from, to, value);
  }
  llvm::Type* type = register_type(b.getContext(), to, lane_count(value->getType()));
  return is_float(from) ? float_to_integer(b, value, type, is_signed_integer(to))
                        : b.CreateIntCast(value, type, is_signed_integer(from));
}

llvm::Value* widen(const EmitContext& context, Dtype dtype, llvm::Value* memory) {
  llvm::IRBuilderBase& b = context.builder;
  switch (dtype) {
    case Dtype::boolean: return b.CreateICmpNE(memory, llvm::Constant::getNullValue(memory->getType()));
    case Dtype::bf16: return as_float(words(context, memory) << 16).value;
    case Dtype::f16:
      if (context.options.f16) {
        llvm::Value* half = b.CreateBitCast(memory, of_lanes(memory, b.getHalfTy()));
        return b.CreateFPExt(half, of_lanes(memory, b.getFloatTy()));
      }
      return widen_f16(words(context, memory)).value;
    default: return memory;
  }
}

/// What widen() made a value of, where it did.
static llvm::Value* before_widening(llvm::Value* value) {
  using namespace llvm::PatternMatch;
  llvm::Value* narrow = nullptr;
  return match(value, m_BitCast(m_Shl(m_ZExt(m_Value(narrow)), m_SpecificInt(16)))) &&
                 narrow->getType()->getScalarSizeInBits() == 16
             ? narrow
             : nullptr;
}

llvm::Value* narrow(const EmitContext& context, Dtype dtype, llvm::Value* value) {
  llvm::IRBuilderBase& b = context.builder;
  switch (dtype) {
    case Dtype::boolean: return b.CreateZExt(value, of_lanes(value, b.getInt8Ty()));
    case Dtype::bf16:
      if (llvm::Value* const before = before_widening(value)) return before;
      return shorts(shift_right(round_bf16({&context, value}), 16));
    case Dtype::f16:
      if (context.options.f16) {
        llvm::Value* half = b.CreateFPTrunc(value, of_lanes(value, b.getHalfTy()));
        return b.CreateBitCast(half, of_lanes(value, b.getInt16Ty()));
      }
      return shorts(narrow_f16({&context, value}));
    default: return value;
  }
}

llvm::Value* round_to(const EmitContext& context, Dtype dtype, llvm::Value* value) {
  switch (dtype) {
    case Dtype::bf16: return as_float(round_bf16({&context, value}) & int64_t{-0x10000}).value;
    case Dtype::f16: return widen(context, dtype, narrow(context, dtype, value));
    default: return value;
  }
}

}  // namespace tenon::codegen
