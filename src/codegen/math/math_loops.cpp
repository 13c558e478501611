// What takes a loop for each element where no function can be called: remainders, and powers of integers.
#include <llvm/IR/Constants.h>

#include <array>
#include <limits>

#include "base/fail.h"
#include "codegen/math/llvm_math_f64.h"

namespace tenon::codegen {
namespace {

namespace loops_of_lanes {

using Build = llvm::IRBuilderBase;
using Pair = std::array<llvm::Value*, 2>;

/// `start`, changed by `step` as long as `goes_on` says.
template <class GoesOn, class StepOf, size_t Count>
std::array<llvm::Value*, Count> repeat(Build& b, std::array<llvm::Value*, Count> start, const GoesOn& goes_on,
                                       const StepOf& step) {
  llvm::BasicBlock* const before = b.GetInsertBlock();
  llvm::Function* const function = before->getParent();
  auto* const head = llvm::BasicBlock::Create(b.getContext(), "again", function);
  auto* const body = llvm::BasicBlock::Create(b.getContext(), "step", function);
  auto* const done = llvm::BasicBlock::Create(b.getContext(), "enough", function);
  b.CreateBr(head);
  b.SetInsertPoint(head);
  std::array<llvm::PHINode*, Count> phis{};
  std::array<llvm::Value*, Count> values{};
  for (size_t i = 0; i < Count; ++i) {
    phis[i] = b.CreatePHI(start[i]->getType(), 2);
    phis[i]->addIncoming(start[i], before);
    values[i] = phis[i];
  }
  b.CreateCondBr(goes_on(values), body, done);
  b.SetInsertPoint(body);
  const std::array<llvm::Value*, Count> next = step(values);
  for (size_t i = 0; i < Count; ++i)
    phis[i]->addIncoming(next[i], b.GetInsertBlock());
  b.CreateBr(head);
  b.SetInsertPoint(done);
  return values;
}

/// f(x, y) of each lane.
template <class F>
Lanes each(Lanes x, Lanes y, const F& f) {
  Build& b = x.builder();
  const unsigned lanes = lane_count(x.type());
  if (lanes == 0) return x.with(f(b, x.value, y.value));
  llvm::Value* all = llvm::PoisonValue::get(x.type());
  for (unsigned i = 0; i < lanes; ++i) {
    llvm::Value* const one = f(b, b.CreateExtractElement(x.value, i), b.CreateExtractElement(y.value, i));
    all = b.CreateInsertElement(all, one, i);
  }
  return x.with(all);
}

/// |x| modulo |y| of finite numbers, y not 0, by whole numbers: x = m 2^e, y = n 2^f.
llvm::Value* remainder(Build& b, llvm::Value* x, llvm::Value* y) {
  llvm::IntegerType* const word = b.getInt64Ty();
  const auto constant = [&](uint64_t value) { return b.getInt64(value); };
  struct Parts {
    llvm::Value* exponent;
    llvm::Value* mantissa;
  };
  const auto parts = [&](llvm::Value* value) {
    llvm::Value* const bits = b.CreateBitCast(value, word);
    llvm::Value* const field = b.CreateAnd(b.CreateLShr(bits, 52), 0x7ff);
    llvm::Value* const hidden = b.CreateShl(b.CreateZExt(b.CreateICmpNE(field, constant(0)), word), 52);
    return Parts{b.CreateBinaryIntrinsic(llvm::Intrinsic::umax, field, constant(1)),
                 b.CreateOr(b.CreateAnd(bits, 0xfffffffffffff), hidden)};
  };
  const Parts of_x = parts(x);
  const Parts of_y = parts(y);
  llvm::Value* const divisor = b.CreateBinaryIntrinsic(llvm::Intrinsic::umax, of_y.mantissa, constant(1));
  llvm::Value* const apart = b.CreateSub(of_x.exponent, of_y.exponent);
  constexpr uint64_t kAtOnce = 11;  // bits that a rest of 53 has room for
  const Pair start{b.CreateURem(of_x.mantissa, divisor), apart};
  const Pair found = repeat(
      b, start, [&](const Pair& at) { return b.CreateICmpSGT(at[1], constant(0)); },
      [&](const Pair& at) {
        llvm::Value* const bits = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, at[1], constant(kAtOnce));
        return Pair{b.CreateURem(b.CreateShl(at[0], bits), divisor), b.CreateSub(at[1], bits)};
      });
  // Times 2^f, in two steps that are exact.
  llvm::Type* const f64 = b.getDoubleTy();
  llvm::Value* const by = b.CreateSub(of_y.exponent, constant(1075));
  llvm::Value* const half = b.CreateAShr(by, 1);
  const auto power = [&](llvm::Value* k) {
    return b.CreateBitCast(b.CreateShl(b.CreateAdd(k, constant(1023)), 52), f64);
  };
  llvm::Value* const rest =
      b.CreateFMul(b.CreateFMul(b.CreateUIToFP(found[0], f64), power(half)), power(b.CreateSub(by, half)));
  // What is less than the divisor stays.
  return b.CreateSelect(b.CreateICmpSLT(apart, constant(0)), b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x), rest);
}

}  // namespace loops_of_lanes
}  // namespace

Lanes rem_f64(Lanes x, Lanes y) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Lanes rest = loops_of_lanes::each(
      x, y, [](llvm::IRBuilderBase& b, llvm::Value* a, llvm::Value* c) { return loops_of_lanes::remainder(b, a, c); });
  const Lanes finite = abs(x) < kInfinity;
  const Lanes defined = finite & (number(y, 0.0) < abs(y));  // y is a number other than 0
  const Lanes result = select(abs(y) == kInfinity, x, copysign(rest, x));
  return select(defined, result, std::numeric_limits<double>::quiet_NaN());
}

Lanes pow_integer(Lanes base, Lanes exponent, bool is_signed) {
  using Values = std::array<llvm::Value*, 3>;
  return loops_of_lanes::each(base, exponent, [&](llvm::IRBuilderBase& b, llvm::Value* x, llvm::Value* n) {
    llvm::Type* const type = x->getType();
    const auto constant = [&](uint64_t value) { return llvm::ConstantInt::get(type, value); };
    const Values found = loops_of_lanes::repeat(
        b, Values{constant(1), x, n}, [&](const Values& at) { return b.CreateICmpNE(at[2], constant(0)); },
        [&](const Values& at) {
          llvm::Value* const odd = b.CreateICmpNE(b.CreateAnd(at[2], constant(1)), constant(0));
          return Values{b.CreateSelect(odd, b.CreateMul(at[0], at[1]), at[0]), b.CreateMul(at[1], at[1]),
                        b.CreateLShr(at[2], constant(1))};
        });
    if (!is_signed) return found[0];
    // 1 / x^n is 0 but of 1 and -1.
    llvm::Value* const odd = b.CreateICmpNE(b.CreateAnd(n, constant(1)), constant(0));
    llvm::Value* const of_minus = b.CreateSelect(odd, x, constant(1));
    llvm::Value* const inverse = b.CreateSelect(
        b.CreateICmpEQ(x, constant(1)), x,
        b.CreateSelect(b.CreateICmpEQ(x, llvm::ConstantInt::getAllOnesValue(type)), of_minus, constant(0)));
    return b.CreateSelect(b.CreateICmpSLT(n, constant(0)), inverse, found[0]);
  });
}

Lanes emit_without_calls(Prim prim, Dtype dtype, std::span<const Lanes> operands) {
  const Lanes x = operands[0];
  if (prim == Prim::rem && dtype == Dtype::f32) return to_single(rem_f64(to_double(x), to_double(operands[1])));
  if (is_integer(dtype) && prim == Prim::pow) return pow_integer(x, operands[1], is_signed_integer(dtype));
  TENON_CHECK(dtype == Dtype::f64, "{} of {} without calls", name(prim), name(dtype));
  switch (prim) {
    case Prim::exp: return exp_f64(x);
    case Prim::exp_normal: return exp_normal_f64(x);
    case Prim::expm1: return expm1_f64(x);
    case Prim::log: return log_f64(x);
    case Prim::log1p: return log1p_f64(x);
    case Prim::sin: return sin_f64(x);
    case Prim::cos: return cos_f64(x);
    case Prim::tanh: return tanh_f64(x);
    case Prim::erf: return erf_f64(x);
    case Prim::atan2: return atan2_f64(x, operands[1]);
    case Prim::pow: return pow_f64(x, operands[1]);
    case Prim::rem: return rem_f64(x, operands[1]);
    default: break;
  }
  TENON_CHECK(false, "{} of {} without calls", name(prim), name(dtype));
}

}  // namespace tenon::codegen
