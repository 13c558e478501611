#include "codegen/math/llvm_scalar.h"

#include <llvm/IR/Intrinsics.h>

#include <array>

#include "base/convert.h"
#include "codegen/math/llvm_math.h"

namespace tenon::codegen {
namespace {

using llvm::Intrinsic::ID;

/// One primitive: operands of one dtype, in registers.
class PrimEmitter {
 public:
  PrimEmitter(const EmitContext& context, const ScalarInstruction& in, std::span<llvm::Value* const> operands)
      : context_(context), b_(context.builder), prim_(in.prim), dtype_(compute_dtype(in.operand_dtype)), v_(operands) {}

  llvm::Value* emit() const {
    switch (prim_) {
      case Prim::eq:
      case Prim::lt:
      case Prim::le: return compare();
      case Prim::bit_and: return b_.CreateAnd(v_[0], v_[1]);
      case Prim::bit_or: return b_.CreateOr(v_[0], v_[1]);
      case Prim::bit_xor: return b_.CreateXor(v_[0], v_[1]);
      case Prim::select: return b_.CreateSelect(v_[0], v_[1], v_[2]);
      default: return tenon::is_float(dtype_) ? floating() : integer();
    }
  }

 private:
  bool is_signed() const { return is_signed_integer(dtype_); }
  llvm::Type* type() const { return v_[0]->getType(); }
  Lanes lanes(size_t i) const { return {&context_, v_[i]}; }
  llvm::Value* unary_intrinsic(ID id) const { return b_.CreateUnaryIntrinsic(id, v_[0]); }
  llvm::Value* binary_intrinsic(ID id) const { return b_.CreateBinaryIntrinsic(id, v_[0], v_[1]); }
  llvm::Constant* integer_constant(int64_t value) const {
    return llvm::ConstantInt::get(type(), static_cast<uint64_t>(value), true);
  }

  llvm::Value* compare() const {
    if (tenon::is_float(dtype_)) {
      return prim_ == Prim::eq   ? b_.CreateFCmpOEQ(v_[0], v_[1])
             : prim_ == Prim::lt ? b_.CreateFCmpOLT(v_[0], v_[1])
                                 : b_.CreateFCmpOLE(v_[0], v_[1]);
    }
    if (prim_ == Prim::eq) {
      return b_.CreateICmpEQ(v_[0], v_[1]);
    }
    return prim_ == Prim::lt ? (is_signed() ? b_.CreateICmpSLT(v_[0], v_[1]) : b_.CreateICmpULT(v_[0], v_[1]))
                             : (is_signed() ? b_.CreateICmpSLE(v_[0], v_[1]) : b_.CreateICmpULE(v_[0], v_[1]));
  }

  llvm::Value* floating() const {
    switch (prim_) {
      case Prim::neg: return b_.CreateFNeg(v_[0]);
      case Prim::abs: return unary_intrinsic(llvm::Intrinsic::fabs);
      case Prim::add: return b_.CreateFAdd(v_[0], v_[1]);
      case Prim::sub: return b_.CreateFSub(v_[0], v_[1]);
      case Prim::mul: return b_.CreateFMul(v_[0], v_[1]);
      case Prim::div: return b_.CreateFDiv(v_[0], v_[1]);
      case Prim::min: return binary_intrinsic(llvm::Intrinsic::minimum);
      case Prim::max: return binary_intrinsic(llvm::Intrinsic::maximum);
      case Prim::sqrt: return unary_intrinsic(llvm::Intrinsic::sqrt);
      case Prim::floor: return unary_intrinsic(llvm::Intrinsic::floor);
      case Prim::round: return unary_intrinsic(llvm::Intrinsic::roundeven);
      default: return dtype_ == Dtype::f32 ? mathematics() : call();
    }
  }

  llvm::Value* mathematics() const {
    const Lanes x = lanes(0);
    switch (prim_) {
      case Prim::exp: return exp_f32(x).value;
      case Prim::exp_normal: return exp_normal_f32(x).value;
      case Prim::expm1: return expm1_f32(x).value;
      case Prim::log: return log_f32(x).value;
      case Prim::log1p: return log1p_f32(x).value;
      case Prim::sin: return sin_f32(x).value;
      case Prim::cos: return cos_f32(x).value;
      case Prim::tanh: return tanh_f32(x).value;
      case Prim::erf: return erf_f32(x).value;
      case Prim::atan2: return atan2_f32(x, lanes(1)).value;
      case Prim::pow: return pow_f32(x, lanes(1)).value;
      case Prim::rem: return rem_f32(x, lanes(1)).value;
      default: break;
    }
    TENON_CHECK(false, "{} of {}", name(prim_), name(dtype_));
  }

  llvm::Value* call() const {
    std::vector<Lanes> operands;
    for (size_t i = 0; i < v_.size(); ++i) {
      operands.push_back(lanes(i));
    }
    return call_lanes(prim_, dtype_, operands).value;
  }

  llvm::Value* integer() const {
    switch (prim_) {
      case Prim::neg: return b_.CreateNeg(v_[0]);
      case Prim::abs: return is_signed() ? b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, v_[0], b_.getFalse()) : v_[0];
      case Prim::add: return b_.CreateAdd(v_[0], v_[1]);
      case Prim::sub: return b_.CreateSub(v_[0], v_[1]);
      case Prim::mul: return b_.CreateMul(v_[0], v_[1]);
      case Prim::div: return quotient();
      case Prim::rem: return remainder();
      case Prim::min: return binary_intrinsic(is_signed() ? llvm::Intrinsic::smin : llvm::Intrinsic::umin);
      case Prim::max: return binary_intrinsic(is_signed() ? llvm::Intrinsic::smax : llvm::Intrinsic::umax);
      case Prim::pow: return call();
      case Prim::shl: return b_.CreateSelect(shifts_out(), integer_constant(0), b_.CreateShl(v_[0], v_[1]));
      case Prim::shr: return shift_right();
      default: break;
    }
    TENON_CHECK(false, "{} of {}", name(prim_), name(dtype_));
  }

  /// The divisor, with 1 in the place of 0. This must not be a select: LLVM 19 moves a division into the arms of a
  /// select, and takes all of an arm for undefined where one lane of it is 0.
  llvm::Value* safe_divisor() const {
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, v_[1], integer_constant(1));
  }

  llvm::Value* is_divisor(int64_t value) const { return b_.CreateICmpEQ(v_[1], integer_constant(value)); }

  /// The dividend, with 0 in the place of those that are divided by -1: the least number would trap.
  llvm::Value* safe_dividend() const {
    return is_signed() ? b_.CreateSelect(is_divisor(-1), integer_constant(0), v_[0]) : v_[0];
  }

  llvm::Value* quotient() const {
    llvm::Value* regular =
        is_signed() ? b_.CreateSDiv(safe_dividend(), safe_divisor()) : b_.CreateUDiv(safe_dividend(), safe_divisor());
    if (is_signed()) {
      regular = b_.CreateSelect(is_divisor(-1), b_.CreateNeg(v_[0]), regular);
    }
    return b_.CreateSelect(is_divisor(0), integer_constant(0), regular);
  }

  /// Of safe operands it is 0 where it should be: nothing is left by 1, nor of 0.
  llvm::Value* remainder() const {
    return is_signed() ? b_.CreateSRem(safe_dividend(), safe_divisor())
                       : b_.CreateURem(safe_dividend(), safe_divisor());
  }

  /// Negative amounts are huge as unsigned ones.
  llvm::Value* shifts_out() const { return b_.CreateICmpUGE(v_[1], integer_constant(type()->getScalarSizeInBits())); }

  llvm::Value* shift_right() const {
    if (!is_signed()) {
      return b_.CreateSelect(shifts_out(), integer_constant(0), b_.CreateLShr(v_[0], v_[1]));
    }
    llvm::Value* last = integer_constant(static_cast<int64_t>(type()->getScalarSizeInBits()) - 1);
    return b_.CreateAShr(v_[0], b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, v_[1], last));
  }

  const EmitContext& context_;
  llvm::IRBuilderBase& b_;
  Prim prim_;
  Dtype dtype_;
  std::span<llvm::Value* const> v_;
};

/// min and max of bool are the operations on bits.
ScalarInstruction on_bits(ScalarInstruction in) {
  if (in.operand_dtype == Dtype::boolean && in.prim == Prim::min) {
    in.prim = Prim::bit_and;
  } else if (in.operand_dtype == Dtype::boolean && in.prim == Prim::max) {
    in.prim = Prim::bit_or;
  }
  return in;
}

llvm::Type* with_lanes(llvm::Type* element, unsigned lanes) {
  return lanes == 0 ? element : llvm::FixedVectorType::get(element, lanes);
}

}  // namespace

llvm::Type* register_type(llvm::LLVMContext& context, Dtype dtype, unsigned lanes) {
  switch (compute_dtype(dtype)) {
    case Dtype::f32: return with_lanes(llvm::Type::getFloatTy(context), lanes);
    case Dtype::f64: return with_lanes(llvm::Type::getDoubleTy(context), lanes);
    case Dtype::boolean: return with_lanes(llvm::Type::getInt1Ty(context), lanes);
    default: return with_lanes(llvm::Type::getIntNTy(context, 8 * static_cast<unsigned>(byte_size(dtype))), lanes);
  }
}

llvm::Type* memory_type(llvm::LLVMContext& context, Dtype dtype, unsigned lanes) {
  return dtype == Dtype::f32 || dtype == Dtype::f64
             ? register_type(context, dtype, lanes)
             : with_lanes(llvm::Type::getIntNTy(context, 8 * static_cast<unsigned>(byte_size(dtype))), lanes);
}

llvm::Constant* emit_constant(llvm::LLVMContext& context, Dtype dtype, double literal, unsigned lanes) {
  llvm::Type* type = register_type(context, dtype, lanes);
  return visit_dtype(dtype, [&]<class T>() -> llvm::Constant* {
    const T value = convert<T>(literal);
    if constexpr (is_float_type<T>) {
      return llvm::ConstantFP::get(type, convert<double>(value));
    } else {
      return llvm::ConstantInt::get(type, static_cast<uint64_t>(value), std::is_signed_v<T>);
    }
  });
}

llvm::Value* emit_prim(const EmitContext& context, const ScalarInstruction& in,
                       std::span<llvm::Value* const> operands) {
  TENON_CHECK(in.prim != Prim::argument && in.prim != Prim::constant, "{} has no operands", name(in.prim));
  if (in.prim == Prim::cast) {
    return emit_cast(context, in.operand_dtype, in.dtype, operands[0]);
  }
  if (in.prim == Prim::reinterpret) {
    llvm::IRBuilderBase& b = context.builder;
    return b.CreateBitCast(operands[0], register_type(b.getContext(), in.dtype, lane_count(operands[0]->getType())));
  }
  return PrimEmitter(context, on_bits(in), operands).emit();
}

std::vector<llvm::Value*> emit_program(const EmitContext& context, const ScalarProgram& program,
                                       std::span<llvm::Value* const> arguments, unsigned lanes) {
  std::vector<llvm::Value*> registers;
  for (const ScalarInstruction& in : program.code) {
    if (in.prim == Prim::argument) {
      registers.push_back(arguments[static_cast<size_t>(in.a)]);
    } else if (in.prim == Prim::constant) {
      registers.push_back(emit_constant(context.builder.getContext(), in.dtype, in.literal, lanes));
    } else {
      llvm::SmallVector<llvm::Value*, 3> operands;
      for (const int operand : {in.a, in.b, in.c}) {
        if (operand >= 0) {
          operands.push_back(registers[static_cast<size_t>(operand)]);
        }
      }
      registers.push_back(emit_prim(context, in, operands));
    }
  }
  std::vector<llvm::Value*> results;
  for (const int result : program.results) {
    results.push_back(registers[static_cast<size_t>(result)]);
  }
  return results;
}

}  // namespace tenon::codegen
