// What sin and cos of f32 reduce numbers beyond 2^17 by, where no function can be called.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>

#include <array>
#include <numbers>

#include "codegen/math/llvm_math.h"

namespace tenon::codegen {
namespace {

/// 1 / pi as a binary fraction: 32 zeros, then its bits.
constexpr auto kInversePi =
    std::to_array<uint32_t>({0, 0x517cc1b7, 0x27220a94, 0xfe13abe8, 0xfa9a6ee0, 0x6db14acc, 0x9e21c820, 0xff28b1d5});

/// Of the biased exponent, where the bits of 1 / pi that are wanted begin with the table.
constexpr uint32_t kLeastExponent = 150 - 31;

llvm::GlobalVariable* table_of(llvm::Module& module) {
  constexpr const char* name = "tenon_inverse_pi";
  if (auto* const there = module.getGlobalVariable(name, true)) return there;
  llvm::Constant* const bits = llvm::ConstantDataArray::get(module.getContext(), kInversePi);
  return new llvm::GlobalVariable(module, bits->getType(), true, llvm::GlobalValue::InternalLinkage, bits, name);
}

/// Of one number. |x| = m 2^e with an integer m, and |x| / pi modulo 2 is m times the bits of 1 / pi from 2^-e on: 96
/// of them are enough for every f32.
FarFromZero reduce_one(llvm::IRBuilderBase& b, llvm::Value* x, bool half) {
  llvm::IntegerType* const word = b.getInt32Ty();
  llvm::IntegerType* const wide = b.getInt64Ty();
  llvm::Value* const bits = b.CreateBitCast(x, word);
  // Of smaller numbers beside those that are wanted it reads something, too.
  llvm::Value* const given = b.CreateAnd(b.CreateLShr(bits, 23), 0xff);
  llvm::Value* const exponent = b.CreateBinaryIntrinsic(llvm::Intrinsic::umax, given, b.getInt32(kLeastExponent));
  llvm::Value* const m = b.CreateZExt(b.CreateOr(b.CreateAnd(bits, 0x7fffff), 0x800000), wide);
  llvm::Value* const at = b.CreateSub(exponent, b.getInt32(kLeastExponent));
  llvm::Value* const first = b.CreateLShr(at, 5);
  llvm::Value* const shift = b.CreateZExt(b.CreateAnd(at, 31), wide);
  llvm::GlobalVariable* const table = table_of(*b.GetInsertBlock()->getModule());
  const auto two = [&](uint32_t i) {
    const auto one = [&](uint32_t j) {
      llvm::Value* const index = b.CreateZExt(b.CreateAdd(first, b.getInt32(j)), wide);
      return b.CreateZExt(b.CreateLoad(word, b.CreateGEP(word, table, index)), wide);
    };
    return b.CreateOr(b.CreateShl(one(i), 32), one(i + 1));
  };
  llvm::Value* const low = two(2);
  llvm::Value* const high = b.CreateIntrinsic(llvm::Intrinsic::fshl, {wide}, {two(0), low, shift});
  llvm::Value* const rest_bits = b.CreateLShr(b.CreateShl(low, shift), 32);
  // In units of 2^-63; what wraps is a multiple of 2.
  llvm::Value* turns = b.CreateAdd(b.CreateMul(m, high), b.CreateLShr(b.CreateMul(m, rest_bits), 32));
  if (half) turns = b.CreateSub(turns, b.getInt64(uint64_t{1} << 62));
  llvm::Value* const count = b.CreateLShr(b.CreateAdd(turns, b.getInt64(uint64_t{1} << 62)), 63);
  llvm::Value* const rest = b.CreateSIToFP(b.CreateSub(turns, b.CreateShl(count, 63)), b.getDoubleTy());
  llvm::Value* const scaled = b.CreateFMul(rest, llvm::ConstantFP::get(b.getDoubleTy(), std::numbers::pi * 0x1p-63));
  // Of infinities and NaN there is no rest.
  llvm::Value* const finite = b.CreateICmpNE(exponent, b.getInt32(0xff));
  return {b.CreateSelect(finite, b.CreateFPTrunc(scaled, x->getType()), llvm::ConstantFP::getNaN(x->getType())),
          b.CreateTrunc(count, word)};
}

}  // namespace

FarFromZero reduce_far(Lanes magnitude, bool half) {
  llvm::IRBuilderBase& b = magnitude.builder();
  const unsigned lanes = lane_count(magnitude.type());
  if (lanes == 0) return reduce_one(b, magnitude.value, half);
  FarFromZero all{llvm::PoisonValue::get(magnitude.type()),
                  llvm::PoisonValue::get(with_lanes_of(magnitude.type(), b.getInt32Ty()))};
  for (unsigned i = 0; i < lanes; ++i) {
    const FarFromZero one = reduce_one(b, b.CreateExtractElement(magnitude.value, i), half);
    all.rest = b.CreateInsertElement(all.rest, one.rest, i);
    all.count = b.CreateInsertElement(all.count, one.count, i);
  }
  return all;
}

}  // namespace tenon::codegen
