// Products by the matrix unit of x86 (AMX): 16 or 32 rows by 32 columns, 64 bytes of depth in one step.
#include <fmt/format.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <array>

#include "base/fail.h"
#include "codegen/products/llvm_product.h"

namespace tenon::codegen {
namespace {

constexpr uint64_t kRowBytes = 64;
constexpr uint64_t kRows = 16;

/// Eight tiles of sixteen rows of 64 bytes, as ldtilecfg reads it.
llvm::Constant* configuration(llvm::LLVMContext& context) {
  std::array<uint8_t, 64> bytes = {};
  bytes[0] = 1;  // the palette
  for (size_t tile = 0; tile < 8; ++tile) {
    bytes[16 + 2 * tile] = kRowBytes;
    bytes[48 + tile] = kRows;
  }
  return llvm::ConstantDataArray::get(context, bytes);
}

llvm::Intrinsic::ID multiply(const ProductTypes& types) {
  if (types.left == Dtype::bf16) return llvm::Intrinsic::x86_tdpbf16ps;
  const bool left = types.left == Dtype::i8;
  const bool right = types.right == Dtype::i8;
  if (left) return right ? llvm::Intrinsic::x86_tdpbssd : llvm::Intrinsic::x86_tdpbsud;
  return right ? llvm::Intrinsic::x86_tdpbusd : llvm::Intrinsic::x86_tdpbuud;
}

}  // namespace

llvm::Function* emit_matrix_begin(const ProductEmission& e) {
  llvm::IRBuilder<> b(e.module.getContext());
  auto* const function = llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), false),
                                                llvm::Function::InternalLinkage, "matrix_begin", e.module);
  b.SetInsertPoint(llvm::BasicBlock::Create(b.getContext(), "entry", function));
  llvm::Constant* const bytes = configuration(b.getContext());
  auto* const variable =
      new llvm::GlobalVariable(e.module, bytes->getType(), true, llvm::GlobalValue::InternalLinkage, bytes, "tiles");
  variable->setAlignment(llvm::Align(64));
  b.CreateIntrinsic(llvm::Intrinsic::x86_ldtilecfg, {}, {variable});
  b.CreateRetVoid();
  return function;
}

llvm::Function* emit_matrix_end(const ProductEmission& e) {
  llvm::IRBuilder<> b(e.module.getContext());
  auto* const function = llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), false),
                                                llvm::Function::InternalLinkage, "matrix_end", e.module);
  b.SetInsertPoint(llvm::BasicBlock::Create(b.getContext(), "entry", function));
  b.CreateIntrinsic(llvm::Intrinsic::x86_tilerelease, {}, {});
  b.CreateRetVoid();
  return function;
}

llvm::Function* emit_matrix_tile(const ProductEmission& e, int high) {
  llvm::IRBuilder<> b(e.module.getContext());
  llvm::Type* const pointer = b.getPtrTy();
  llvm::Type* const i64 = b.getInt64Ty();
  auto* const type = llvm::FunctionType::get(b.getVoidTy(), {pointer, pointer, pointer, i64, pointer}, false);
  auto* const function =
      llvm::Function::Create(type, llvm::Function::InternalLinkage, fmt::format("matrix_{}", 16 * high), e.module);
  const auto block = [&](const char* name) { return llvm::BasicBlock::Create(b.getContext(), name, function); };
  const auto at = [&](llvm::Value* base, llvm::Value* bytes) { return b.CreateGEP(b.getInt8Ty(), base, bytes); };
  const auto tile = [&](int index) { return b.getInt8(static_cast<uint8_t>(index)); };
  b.SetInsertPoint(block("entry"));
  const auto step = [&](uint64_t index) {
    return b.CreateLoad(i64, b.CreateConstGEP1_64(i64, function->getArg(4), index));
  };
  llvm::Value* const left_row = step(0);
  llvm::Value* const right_row = step(2);
  llvm::Value* const tile_row = step(3);
  llvm::Value* const depth = step(4);
  llvm::Value* const accumulate = step(5);
  // Sums are tiles 0 to 3, left ones 4 and 5, right ones 6 and 7.
  const auto for_sums = [&](const auto& visit) {
    for (int row = 0; row < high; ++row) {
      llvm::Value* const begin =
          at(function->getArg(2), b.CreateMul(tile_row, b.getInt64(static_cast<uint64_t>(row) * kRows)));
      for (int column = 0; column < 2; ++column) {
        visit(tile(2 * row + column), at(begin, b.getInt64(static_cast<uint64_t>(column) * kRowBytes)));
      }
    }
  };
  llvm::BasicBlock* const keep = block("keep");
  llvm::BasicBlock* const zero = block("zero");
  llvm::BasicBlock* const loop = block("loop");
  llvm::BasicBlock* const done = block("done");
  b.CreateCondBr(b.CreateICmpNE(accumulate, b.getInt64(0)), keep, zero);
  b.SetInsertPoint(keep);
  for_sums([&](llvm::Value* index, llvm::Value* place) {
    b.CreateIntrinsic(llvm::Intrinsic::x86_tileloadd64, {}, {index, place, tile_row});
  });
  b.CreateBr(loop);
  b.SetInsertPoint(zero);
  for_sums([&](llvm::Value* index, llvm::Value*) { b.CreateIntrinsic(llvm::Intrinsic::x86_tilezero, {}, {index}); });
  b.CreateBr(loop);

  b.SetInsertPoint(loop);
  const auto carried = [&](llvm::Value* first) {
    llvm::PHINode* const phi = b.CreatePHI(first->getType(), 3);
    phi->addIncoming(first, keep);
    phi->addIncoming(first, zero);
    return phi;
  };
  llvm::PHINode* const left = carried(function->getArg(0));
  llvm::PHINode* const right = carried(function->getArg(1));
  llvm::PHINode* const rest = carried(depth);
  for (int column = 0; column < 2; ++column) {
    b.CreateIntrinsic(llvm::Intrinsic::x86_tileloadd64, {},
                      {tile(6 + column), at(right, b.getInt64(static_cast<uint64_t>(column) * kRowBytes)), right_row});
  }
  for (int row = 0; row < high; ++row) {
    llvm::Value* const place = at(left, b.CreateMul(left_row, b.getInt64(static_cast<uint64_t>(row) * kRows)));
    b.CreateIntrinsic(llvm::Intrinsic::x86_tileloadd64, {}, {tile(4 + row), place, left_row});
    for (int column = 0; column < 2; ++column) {
      b.CreateIntrinsic(multiply(e.types), {}, {tile(2 * row + column), tile(4 + row), tile(6 + column)});
    }
  }
  left->addIncoming(at(left, b.getInt64(kRowBytes)), loop);
  right->addIncoming(at(right, b.CreateMul(right_row, b.getInt64(kRows))), loop);
  llvm::Value* const next = b.CreateSub(rest, b.getInt64(1));
  rest->addIncoming(next, loop);
  b.CreateCondBr(b.CreateICmpNE(next, b.getInt64(0)), loop, done);

  b.SetInsertPoint(done);
  for_sums([&](llvm::Value* index, llvm::Value* place) {
    b.CreateIntrinsic(llvm::Intrinsic::x86_tilestored64, {}, {index, place, tile_row});
  });
  b.CreateRetVoid();
  return function;
}

}  // namespace tenon::codegen
