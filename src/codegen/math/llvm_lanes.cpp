#include "codegen/math/llvm_lanes.h"

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/fail.h"
#include "codegen/math/llvm_math_f64.h"
#include "native/lane_functions.h"

namespace tenon::codegen {

unsigned lane_count(llvm::Type* type) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return vector != nullptr ? vector->getNumElements() : 0;
}

llvm::Type* with_lanes_of(llvm::Type* like, llvm::Type* element) {
  const unsigned lanes = lane_count(like);
  return lanes == 0 ? element : llvm::FixedVectorType::get(element, lanes);
}

Lanes constant(Lanes x, double number) { return x.with(llvm::ConstantFP::get(x.type(), number)); }
Lanes constant(Lanes x, int64_t number) {
  return x.with(llvm::ConstantInt::get(x.type(), static_cast<uint64_t>(number), true));
}

namespace {

using Build = llvm::IRBuilderBase;

Lanes intrinsic(llvm::Intrinsic::ID id, std::initializer_list<Lanes> operands) {
  const Lanes first = *operands.begin();
  llvm::SmallVector<llvm::Value*, 3> values;
  for (const Lanes& operand : operands) {
    values.push_back(operand.value);
  }
  return first.with(first.builder().CreateIntrinsic(id, {first.type()}, values));
}

}  // namespace

Lanes operator+(Lanes a, Lanes b) {
  return a.with(a.is_float() ? a.builder().CreateFAdd(a.value, b.value) : a.builder().CreateAdd(a.value, b.value));
}
Lanes operator-(Lanes a, Lanes b) {
  return a.with(a.is_float() ? a.builder().CreateFSub(a.value, b.value) : a.builder().CreateSub(a.value, b.value));
}
Lanes operator*(Lanes a, Lanes b) {
  return a.with(a.is_float() ? a.builder().CreateFMul(a.value, b.value) : a.builder().CreateMul(a.value, b.value));
}
Lanes operator/(Lanes a, Lanes b) { return a.with(a.builder().CreateFDiv(a.value, b.value)); }
Lanes operator-(Lanes a) {
  return a.with(a.is_float() ? a.builder().CreateFNeg(a.value) : a.builder().CreateNeg(a.value));
}
Lanes operator&(Lanes a, Lanes b) { return a.with(a.builder().CreateAnd(a.value, b.value)); }
Lanes operator|(Lanes a, Lanes b) { return a.with(a.builder().CreateOr(a.value, b.value)); }
Lanes operator^(Lanes a, Lanes b) { return a.with(a.builder().CreateXor(a.value, b.value)); }
Lanes operator<<(Lanes a, int bits) { return a.with(a.builder().CreateShl(a.value, static_cast<uint64_t>(bits))); }
Lanes operator<(Lanes a, Lanes b) {
  return a.with(a.is_float() ? a.builder().CreateFCmpOLT(a.value, b.value)
                             : a.builder().CreateICmpSLT(a.value, b.value));
}
Lanes operator<=(Lanes a, Lanes b) {
  return a.with(a.is_float() ? a.builder().CreateFCmpOLE(a.value, b.value)
                             : a.builder().CreateICmpSLE(a.value, b.value));
}
Lanes operator==(Lanes a, Lanes b) {
  return a.with(a.is_float() ? a.builder().CreateFCmpOEQ(a.value, b.value)
                             : a.builder().CreateICmpEQ(a.value, b.value));
}
Lanes operator!=(Lanes a, Lanes b) {
  return a.with(a.is_float() ? a.builder().CreateFCmpUNE(a.value, b.value)
                             : a.builder().CreateICmpNE(a.value, b.value));
}
Lanes operator!(Lanes mask) { return mask.with(mask.builder().CreateNot(mask.value)); }
Lanes select(Lanes mask, Lanes a, Lanes b) { return a.with(a.builder().CreateSelect(mask.value, a.value, b.value)); }
Lanes not_less(Lanes a, Lanes b) {
  return a.with(a.is_float() ? a.builder().CreateFCmpUGE(a.value, b.value)
                             : a.builder().CreateICmpSGE(a.value, b.value));
}
Lanes below(Lanes a, Lanes b) { return a.with(a.builder().CreateICmpULT(a.value, b.value)); }
Lanes shift_right(Lanes a, int bits) { return a.with(a.builder().CreateLShr(a.value, static_cast<uint64_t>(bits))); }
Lanes shift_right_signed(Lanes a, int bits) {
  return a.with(a.builder().CreateAShr(a.value, static_cast<uint64_t>(bits)));
}

Lanes fma(Lanes a, Lanes b, Lanes c) { return a.fma() ? intrinsic(llvm::Intrinsic::fma, {a, b, c}) : a * b + c; }
Lanes fnma(Lanes a, Lanes b, Lanes c) { return a.fma() ? intrinsic(llvm::Intrinsic::fma, {-a, b, c}) : c - a * b; }

namespace {

/// Coefficients of a polynomial, as the addends of a chain of multiply-adds.
class Addends {
 public:
  Addends(Lanes x, std::span<const double> numbers) : x_(x), numbers_(numbers) {
    if (!x.context->options.loads_addends || lane_count(x.type()) == 0) return;
    llvm::SmallVector<llvm::Constant*, 16> vectors;
    for (const double each : numbers) {
      vectors.push_back(llvm::ConstantFP::get(x.type(), each));
    }
    Build& b = x.builder();
    auto* const values = llvm::ConstantArray::get(llvm::ArrayType::get(x.type(), vectors.size()), vectors);
    // LLVM would load each just once and copy it from register to register, which takes time of the units that
    // multiply: it must not see that this is the same table for other vectors, and in the next iteration.
    auto* const type = llvm::FunctionType::get(b.getPtrTy(), {b.getPtrTy()}, false);
    table_ = b.CreateCall(llvm::InlineAsm::get(type, "", "=r,0", /*hasSideEffects=*/true), {table_of(values)});
  }

  Lanes operator[](size_t i) const {
    if (table_ == nullptr) return number(x_, numbers_[i]);
    Build& b = x_.builder();
    return x_.with(b.CreateLoad(x_.type(), b.CreateConstGEP1_64(x_.type(), table_, i)));
  }

 private:
  /// A constant of the module, one for equal values.
  llvm::GlobalVariable* table_of(llvm::Constant* values) const {
    llvm::Module& module = *x_.builder().GetInsertBlock()->getModule();
    for (llvm::GlobalVariable& each : module.globals()) {
      if (each.hasInitializer() && each.getInitializer() == values) return &each;
    }
    auto* const made = new llvm::GlobalVariable(module, values->getType(), /*isConstant=*/true,
                                                llvm::GlobalValue::PrivateLinkage, values, "coefficients");
    made->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
    return made;
  }

  Lanes x_;
  std::span<const double> numbers_;
  llvm::Value* table_ = nullptr;
};

}  // namespace

Lanes polynomial(Lanes x, std::span<const double> coefficients) {
  const Addends addends(x, coefficients);
  Lanes sum = addends[coefficients.size() - 1];
  for (size_t i = coefficients.size() - 1; i-- > 0;) {
    sum = fma(sum, x, addends[i]);
  }
  return sum;
}

Lanes abs(Lanes x) { return intrinsic(llvm::Intrinsic::fabs, {x}); }
Lanes floor(Lanes x) { return intrinsic(llvm::Intrinsic::floor, {x}); }
Lanes trunc(Lanes x) { return intrinsic(llvm::Intrinsic::trunc, {x}); }
Lanes copysign(Lanes magnitude, Lanes sign) { return intrinsic(llvm::Intrinsic::copysign, {magnitude, sign}); }

// In this order of operands they are one instruction on x86, which returns the second when a comparison is unordered.
Lanes at_most(Lanes x, double limit) {
  if (x.context->options.limits) return intrinsic(llvm::Intrinsic::minimum, {x, number(x, limit)});
  return select(limit < x, limit, x);
}
Lanes at_least(Lanes x, double limit) {
  if (x.context->options.limits) return intrinsic(llvm::Intrinsic::maximum, {x, number(x, limit)});
  return select(x < limit, limit, x);
}

Lanes bits(Lanes x) {
  llvm::Type* word = x.builder().getIntNTy(x.type()->getScalarSizeInBits());
  return x.with(x.builder().CreateBitCast(x.value, with_lanes_of(x.type(), word)));
}
Lanes as_float(Lanes x) {
  llvm::Type* element = x.type()->getScalarSizeInBits() == 64 ? x.builder().getDoubleTy() : x.builder().getFloatTy();
  return x.with(x.builder().CreateBitCast(x.value, with_lanes_of(x.type(), element)));
}
Lanes to_float(Lanes x) {
  return x.with(x.builder().CreateSIToFP(x.value, with_lanes_of(x.type(), x.builder().getFloatTy())));
}
Lanes to_double(Lanes x) {
  return x.with(x.builder().CreateFPExt(x.value, with_lanes_of(x.type(), x.builder().getDoubleTy())));
}
Lanes to_single(Lanes x) {
  return x.with(x.builder().CreateFPTrunc(x.value, with_lanes_of(x.type(), x.builder().getFloatTy())));
}
Lanes low_words(Lanes x) {
  return x.with(x.builder().CreateTrunc(bits(x).value, with_lanes_of(x.type(), x.builder().getInt32Ty())));
}

namespace {

using Pieces = std::span<llvm::Value* const>;

/// f on pieces of 16 lanes of each of `whole`, which have as many; the last pieces are filled up with anything.
llvm::Value* in_pieces(Build& b, std::initializer_list<llvm::Value*> whole,
                       const std::function<llvm::Value*(Pieces)>& f) {
  constexpr unsigned kWidth = 16;
  const unsigned lanes = lane_count((*whole.begin())->getType());
  if (lanes == kWidth) return f({whole.begin(), whole.size()});
  const auto lanes_from = [&](unsigned first, unsigned count) {
    std::vector<int> which;
    for (unsigned i = first; i < first + count; ++i) {
      which.push_back(i < lanes ? static_cast<int>(i) : llvm::PoisonMaskElem);
    }
    return which;
  };
  std::vector<llvm::Value*> results;
  for (unsigned at = 0; at < lanes; at += kWidth) {
    std::vector<llvm::Value*> pieces;
    for (llvm::Value* const each : whole) {
      pieces.push_back(b.CreateShuffleVector(each, lanes_from(at, kWidth)));
    }
    results.push_back(f(pieces));
  }
  llvm::Value* const all = llvm::concatenateVectors(b, results);
  return lanes % kWidth == 0 ? all : b.CreateShuffleVector(all, lanes_from(0, lanes));
}

llvm::Value* look_up_one(Lanes index, const FloatTable& table) {
  Build& b = index.builder();
  auto* const values = llvm::ConstantDataArray::get(b.getContext(), llvm::ArrayRef<float>(table));
  auto* const global =
      new llvm::GlobalVariable(*b.GetInsertBlock()->getModule(), values->getType(), /*isConstant=*/true,
                               llvm::GlobalValue::PrivateLinkage, values, "table");
  global->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  llvm::Value* const at = (index & static_cast<int64_t>(table.size() - 1)).value;
  return b.CreateLoad(b.getFloatTy(), b.CreateGEP(b.getFloatTy(), global, b.CreateZExt(at, b.getInt64Ty())));
}

}  // namespace

bool has_tables(Lanes x) { return x.context->options.tables && x.type()->getScalarType()->isFloatTy(); }

Lanes look_up(Lanes index, const FloatTable& table) {
  if (lane_count(index.type()) == 0) return index.with(look_up_one(index, table));
  Build& b = index.builder();
  const std::span<const float> all(table);
  const auto half = [&](size_t first) {
    return llvm::ConstantDataVector::get(b.getContext(), llvm::ArrayRef<float>(all.subspan(first, 16).data(), 16));
  };
  return index.with(in_pieces(b, {index.value}, [&](Pieces piece) {
    return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_vpermi2var_ps_512, {}, {half(0), piece[0], half(16)});
  }));
}

bool has_times_power_of_two(Lanes x) {
  return x.context->options.scale && x.type()->getScalarType()->isFloatTy() && lane_count(x.type()) % 16 == 0 &&
         lane_count(x.type()) > 0;
}

Lanes times_power_of_two(Lanes x, Lanes k) {
  Build& b = x.builder();
  llvm::Value* const all = b.getInt16(0xffff);
  llvm::Value* const as_set = b.getInt32(4);  // the rounding that is in force
  return x.with(in_pieces(b, {x.value, k.value}, [&](Pieces piece) {
    llvm::Value* const none = llvm::Constant::getNullValue(piece[0]->getType());
    return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, {},
                             {piece[0], piece[1], none, all, as_set});
  }));
}

Lanes replace_rarely(Lanes mask, Lanes fast, const std::function<Lanes()>& slow) {
  Build& b = fast.builder();
  llvm::BasicBlock* here = b.GetInsertBlock();
  TENON_CHECK(b.GetInsertPoint() == here->end() && here->getTerminator() == nullptr,
              "code is emitted at the end of a block");
  llvm::Function* function = here->getParent();
  auto* rare = llvm::BasicBlock::Create(b.getContext(), "rare", function);
  auto* join = llvm::BasicBlock::Create(b.getContext(), "join", function);
  llvm::Value* any = lane_count(mask.type()) == 0 ? mask.value : b.CreateOrReduce(mask.value);
  b.CreateCondBr(any, rare, join, llvm::MDBuilder(b.getContext()).createUnlikelyBranchWeights());
  b.SetInsertPoint(rare);
  const Lanes replaced = select(mask, slow(), fast);
  rare = b.GetInsertBlock();
  b.CreateBr(join);
  b.SetInsertPoint(join);
  llvm::PHINode* result = b.CreatePHI(fast.type(), 2);
  result->addIncoming(fast.value, here);
  result->addIncoming(replaced.value, rare);
  return fast.with(result);
}

bool can_call(Lanes x) {
  const std::string& triple = x.builder().GetInsertBlock()->getModule()->getTargetTriple();
  return !llvm::Triple(triple).isNVPTX();
}

Lanes call_lanes(Prim prim, Dtype dtype, std::span<const Lanes> operands) {
  const Lanes first = operands.front();
  if (!can_call(first)) return emit_without_calls(prim, dtype, operands);
  Build& b = first.builder();
  llvm::Function* function = b.GetInsertBlock()->getParent();
  llvm::BasicBlock& entry = function->getEntryBlock();
  llvm::SmallVector<llvm::Value*, 3> arguments;
  llvm::SmallVector<llvm::Type*, 3> types;
  for (const Lanes& operand : operands) {
    // In the entry block a slot is part of the frame; elsewhere it would grow the stack each time round a loop.
    llvm::IRBuilder<> slots(&entry, entry.begin());
    llvm::Value* slot = slots.CreateAlloca(operand.type());
    b.CreateStore(operand.value, slot);
    arguments.push_back(slot);
    types.push_back(slot->getType());
  }
  arguments.push_back(b.getInt64(std::max(1U, lane_count(first.type()))));
  types.push_back(b.getInt64Ty());
  llvm::FunctionCallee callee = function->getParent()->getOrInsertFunction(
      lane_symbol(prim, dtype), llvm::FunctionType::get(b.getVoidTy(), types, false));
  if (auto* declared = llvm::dyn_cast<llvm::Function>(callee.getCallee())) {
    declared->setDoesNotThrow();
    declared->setWillReturn();
    declared->setOnlyAccessesArgMemory();
  }
  b.CreateCall(callee, arguments);
  return first.with(b.CreateLoad(first.type(), arguments.front()));
}

}  // namespace tenon::codegen
