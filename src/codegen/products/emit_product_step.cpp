// The one instruction that products are made of.
#include <llvm/IR/IntrinsicsAArch64.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "base/fail.h"
#include "codegen/products/llvm_product.h"

namespace tenon::codegen {
namespace {

bool is_x86(const Target& target) { return target.triple.starts_with("x86_64"); }

llvm::Intrinsic::ID by_width(const Target& target, llvm::Intrinsic::ID narrow, llvm::Intrinsic::ID middle,
                             llvm::Intrinsic::ID wide) {
  return target.vector_bits == 512 ? wide : target.vector_bits == 256 ? middle : narrow;
}

llvm::Value* bytes(const ProductStep& context, llvm::Value* left, llvm::Value* right, llvm::Value* sum) {
  const Target& target = context.e.target;
  llvm::IRBuilderBase& b = context.b;
  const bool left_signed = context.e.shape.left == Dtype::i8;
  const bool right_signed = context.e.shape.right == Dtype::i8;
  // Where the signs differ, the unsigned operand comes first; else the one of which a lane may be taken comes last.
  if (left_signed == right_signed ? target.lane_operands : left_signed) std::swap(left, right);
  if (is_x86(target)) {
    return b.CreateIntrinsic(
        by_width(target, llvm::Intrinsic::x86_avx512_vpdpbusd_128, llvm::Intrinsic::x86_avx512_vpdpbusd_256,
                 llvm::Intrinsic::x86_avx512_vpdpbusd_512),
        {}, {sum, left, right});
  }
  auto* const type = llvm::FixedVectorType::get(b.getInt8Ty(), 16);
  const llvm::Intrinsic::ID intrinsic = left_signed != right_signed ? llvm::Intrinsic::aarch64_neon_usdot
                                        : left_signed               ? llvm::Intrinsic::aarch64_neon_sdot
                                                                    : llvm::Intrinsic::aarch64_neon_udot;
  return b.CreateIntrinsic(intrinsic, {sum->getType(), type},
                           {sum, b.CreateBitCast(left, type), b.CreateBitCast(right, type)});
}

/// Where the signs differ, the unsigned operand comes first; the sums of what was swapped are transposed.
llvm::Value* squares(const ProductStep& context, llvm::Value* left, llvm::Value* right, llvm::Value* sum) {
  llvm::IRBuilderBase& b = context.b;
  const ProductShape& shape = context.e.shape;
  if (!is_integer(shape.left)) {
    auto* const type = llvm::FixedVectorType::get(b.getBFloatTy(), 8);
    return b.CreateIntrinsic(llvm::Intrinsic::aarch64_neon_bfmmla, {},
                             {sum, b.CreateBitCast(left, type), b.CreateBitCast(right, type)});
  }
  if (shape.squares_are_transposed()) std::swap(left, right);
  auto* const type = llvm::FixedVectorType::get(b.getInt8Ty(), 16);
  const llvm::Intrinsic::ID intrinsic = shape.left != shape.right ? llvm::Intrinsic::aarch64_neon_usmmla
                                        : shape.left == Dtype::i8 ? llvm::Intrinsic::aarch64_neon_smmla
                                                                  : llvm::Intrinsic::aarch64_neon_ummla;
  return b.CreateIntrinsic(intrinsic, {sum->getType(), type},
                           {sum, b.CreateBitCast(left, type), b.CreateBitCast(right, type)});
}

llvm::Value* pairs(const ProductStep& context, llvm::Value* left, llvm::Value* right, llvm::Value* sum) {
  const Target& target = context.e.target;
  llvm::IRBuilderBase& b = context.b;
  if (target.i8_dot) {
    return b.CreateIntrinsic(
        by_width(target, llvm::Intrinsic::x86_avx512_vpdpwssd_128, llvm::Intrinsic::x86_avx512_vpdpwssd_256,
                 llvm::Intrinsic::x86_avx512_vpdpwssd_512),
        {}, {sum, left, right});
  }
  auto* const type = llvm::FixedVectorType::get(b.getInt16Ty(), 2 * static_cast<unsigned>(context.e.shape.lanes));
  llvm::Value* const products =
      b.CreateIntrinsic(by_width(target, llvm::Intrinsic::x86_sse2_pmadd_wd, llvm::Intrinsic::x86_avx2_pmadd_wd,
                                 llvm::Intrinsic::x86_avx512_pmaddw_d_512),
                        {}, {b.CreateBitCast(left, type), b.CreateBitCast(right, type)});
  return b.CreateAdd(sum, products);
}

}  // namespace

llvm::Value* product_step(const ProductStep& context, llvm::Value* left, llvm::Value* right, llvm::Value* sum) {
  llvm::IRBuilderBase& b = context.b;
  switch (context.e.shape.form) {
    case ProductForm::floats:
      return context.e.target.fma ? b.CreateIntrinsic(llvm::Intrinsic::fma, {sum->getType()}, {left, right, sum})
                                  : b.CreateFAdd(sum, b.CreateFMul(left, right));
    case ProductForm::bytes: return bytes(context, left, right, sum);
    case ProductForm::pairs: return pairs(context, left, right, sum);
    case ProductForm::squares: return squares(context, left, right, sum);
    case ProductForm::words: return b.CreateAdd(sum, b.CreateMul(left, right));
  }
  TENON_CHECK(false, "product form {}", static_cast<int>(context.e.shape.form));
}

}  // namespace tenon::codegen
