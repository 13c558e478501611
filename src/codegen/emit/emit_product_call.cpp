// Products: a ProductCall is filled in on the stack, and the function for its types is called.
#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>

#include <algorithm>
#include <cstddef>

#include "codegen/emit/llvm_address.h"
#include "codegen/emit/llvm_emission.h"
#include "kernel/product/product.h"

namespace tenon::codegen {
namespace {

/// How many rows, columns or steps there are.
llvm::Value* count_of(Emission& e, const std::vector<int>& axes) {
  llvm::Value* count = e.b.getInt64(1);
  for (const int axis : axes) {
    count = e.b.CreateNSWMul(count, trip_count(e, e.axis(axis)));
  }
  return count;
}

llvm::FunctionCallee function_for(Emission& e, const ProductTypes& types) {
  const auto kinds = product_kinds();
  const auto kind = std::ranges::find(kinds, types, &ProductKind::types);
  TENON_CHECK(kind != kinds.end(), "{}: a product that there is no code for", e.kernel.name);
  llvm::Type* const pointer = e.b.getPtrTy();
  return e.module.getOrInsertFunction(llvm::StringRef(kind->symbol),
                                      llvm::FunctionType::get(e.b.getVoidTy(), {pointer, pointer}, false));
}

}  // namespace

void emit_product(Emission& e, const loops::Product& product) {
  llvm::Value* const call = e.in_block(e.allocas, [&] {
    return e.b.CreateAlloca(llvm::ArrayType::get(e.b.getInt8Ty(), sizeof(ProductCall)), nullptr, "product");
  });
  llvm::cast<llvm::AllocaInst>(call)->setAlignment(llvm::Align(alignof(ProductCall)));
  const auto set = [&](size_t offset, llvm::Value* value) {
    e.b.CreateAlignedStore(value, e.b.CreateConstGEP1_64(e.b.getInt8Ty(), call, offset), llvm::Align(8));
  };
  const auto begin_of = [&](const loops::Matrix& matrix) { return address_of(e, matrix.buffer, matrix.at).first; };
  set(offsetof(ProductCall, left), begin_of(product.left));
  set(offsetof(ProductCall, left_row), extent(e, product.left.row));
  set(offsetof(ProductCall, left_depth), extent(e, product.left.column));
  set(offsetof(ProductCall, right), begin_of(product.right));
  set(offsetof(ProductCall, right_depth), extent(e, product.right.row));
  set(offsetof(ProductCall, right_column), extent(e, product.right.column));
  set(offsetof(ProductCall, panel), e.b.getInt64(static_cast<uint64_t>(product.panel)));
  set(offsetof(ProductCall, right_panel), extent(e, product.right.column));
  set(offsetof(ProductCall, together), e.b.getInt64(static_cast<uint64_t>(product.together)));
  set(offsetof(ProductCall, tile), begin_of(product.tile));
  set(offsetof(ProductCall, tile_row), extent(e, product.tile.row));
  set(offsetof(ProductCall, rows), count_of(e, product.rows));
  set(offsetof(ProductCall, columns), count_of(e, product.columns));
  set(offsetof(ProductCall, depth), count_of(e, product.depth));
  llvm::Value* accumulate = e.b.getInt64(0);
  if (product.adds_after >= 0) {
    llvm::Value* const block = e.axes[static_cast<size_t>(product.adds_after)];
    accumulate = e.b.CreateZExt(e.b.CreateICmpNE(block, e.b.getInt64(0)), e.i64());
  }
  set(offsetof(ProductCall, accumulate), accumulate);
  e.b.CreateCall(function_for(e, types_of(e.kernel, product)), {call, address_of(e, product.work, {}).first});
}

}  // namespace tenon::codegen
