// All kernels of one combination of dtypes as a module: the requested function hands out their addresses.
#include <fmt/format.h>

#include "codegen/llvm_product.h"
#include "codegen/product_library.h"

namespace tenon::codegen {
namespace {

constexpr const char* kSymbol = "products";

/// The functions of a library in the order in which it hands them out.
std::vector<llvm::Function*> emit_functions(const ProductEmission& e) {
  std::vector<llvm::Function*> functions = {emit_pack_rows(e), emit_pack_columns(e), emit_pack_left(e)};
  for (int rows = 1; rows <= e.shape.rows; ++rows) {
    for (const int vectors : e.shape.widths[static_cast<size_t>(rows)]) {
      // The columns that are left over after the widest tiles: a partial tile does for whole ones too.
      llvm::Function* const part = vectors <= e.shape.vectors ? emit_product_tile(e, rows, vectors, true) : nullptr;
      functions.push_back(vectors < e.shape.vectors ? part : emit_product_tile(e, rows, vectors, false));
      functions.push_back(part);
    }
  }
  for (int rows = 1; rows < static_cast<int>(e.shape.dot_columns.size()); ++rows) {
    functions.push_back(emit_product_dot(e, rows, e.shape.dot_columns[static_cast<size_t>(rows)]));
    functions.push_back(emit_product_dot(e, rows, 1));
  }
  return functions;
}

std::unique_ptr<llvm::Module> emit_library(llvm::LLVMContext& context, const ProductTypes& types,
                                           const Target& target) {
  auto module = std::make_unique<llvm::Module>(kSymbol, context);
  const ProductShape shape = product_shape(types, target);
  std::vector<llvm::Function*> functions = emit_functions({*module, shape, types, target});
  if (has_matrix_unit(types, target)) {
    const ProductShape panels = matrix_shape(types, target);
    const ProductEmission e{*module, panels, types, target};
    for (llvm::Function* each : {emit_matrix_begin(e), emit_matrix_end(e), emit_matrix_tile(e, 1),
                                 emit_matrix_tile(e, 2), emit_pack_rows(e), emit_pack_columns(e)}) {
      functions.push_back(each);
    }
  }
  llvm::IRBuilder<> b(context);
  auto* const type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy()}, false);
  auto* const table = llvm::Function::Create(type, llvm::Function::ExternalLinkage, kSymbol, *module);
  b.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", table));
  const auto address = [&](llvm::Function* function) -> llvm::Value* {
    return function != nullptr ? function : llvm::Constant::getNullValue(b.getPtrTy());
  };
  for (size_t i = 0; i < functions.size(); ++i)
    b.CreateStore(address(functions[i]), b.CreateConstGEP1_64(b.getPtrTy(), table->getArg(0), i));
  b.CreateRetVoid();
  return module;
}

}  // namespace

Jit::Request product_request(const ProductTypes& types, const Target& target) {
  return {.key = fmt::format("products {} {} {}", name(types.left), name(types.right), name(types.tile)),
          .symbol = kSymbol,
          .emit = [types, target](llvm::LLVMContext& context) { return emit_library(context, types, target); }};
}

ProductKernels make_product_kernels(const ProductTypes& types, Jit& jit) {
  const ProductShape shape = product_shape(types, jit.target());
  const auto bytes = [](Dtype dtype) { return static_cast<int>(byte_size(dtype)); };
  ProductKernels kernels{.lanes = shape.lanes,
                         .rows = shape.rows,
                         .panel = shape.lanes * shape.vectors,
                         .masks = shape.masks,
                         .step = shape.step,
                         .left_bytes = bytes(shape.left),
                         .right_bytes = bytes(shape.right)};
  size_t count = 9 + 2 * shape.dot_columns.size();
  for (const std::vector<int>& widths : shape.widths) {
    count += 2 * widths.size();
  }
  std::vector<void*> addresses(count);
  const Jit::Request request = product_request(types, jit.target());
  reinterpret_cast<void (*)(void**)>(jit.compile({&request, 1}).front())(addresses.data());

  auto next = addresses.begin();
  kernels.pack_rows = reinterpret_cast<ProductPack>(*next++);
  kernels.pack_columns = reinterpret_cast<ProductPack>(*next++);
  const auto pack_left = reinterpret_cast<ProductPack>(*next++);
  if (shape.left != types.left || shape.step > 1) kernels.pack_left = pack_left;
  for (size_t rows = 1; rows < shape.widths.size(); ++rows) {
    for (const int vectors : shape.widths[rows]) {
      const auto full = reinterpret_cast<ProductMicro>(*next++);
      const auto part = reinterpret_cast<ProductMicro>(*next++);
      kernels.tiles[rows][static_cast<size_t>(kernels.widths[rows]++)] = {vectors, full, part};
    }
  }
  for (size_t rows = 1; rows < shape.dot_columns.size(); ++rows) {
    const auto several = reinterpret_cast<ProductMicro>(*next++);
    const auto one = reinterpret_cast<ProductMicro>(*next++);
    kernels.dots[rows] = {shape.dot_columns[rows], several, one};
  }
  if (has_matrix_unit(types, jit.target())) {
    kernels.matrix.begin = reinterpret_cast<void (*)()>(*next++);
    kernels.matrix.end = reinterpret_cast<void (*)()>(*next++);
    kernels.matrix.tiles[1] = reinterpret_cast<ProductMicro>(*next++);
    kernels.matrix.tiles[2] = reinterpret_cast<ProductMicro>(*next++);
    kernels.matrix.pack_rows = reinterpret_cast<ProductPack>(*next++);
    kernels.matrix.pack_columns = reinterpret_cast<ProductPack>(*next++);
    kernels.matrix.step = matrix_shape(types, jit.target()).step;
  }
  return kernels;
}

}  // namespace tenon::codegen
