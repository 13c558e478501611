// The parts of products that are made for a machine, as LLVM functions: register tiles and packing.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <string>

#include "kernel/product/product.h"
#include "native/product_shape.h"
#include "native/target.h"

namespace tenon::codegen {

/// What the emitters of one library share.
struct ProductEmission {
  llvm::Module& module;
  const ProductShape& shape;
  const ProductTypes& types;
  const Target& target;
};

/// sum + left * right of one step, in vectors of sums or of what a step holds for them.
struct ProductStep {
  const ProductEmission& e;
  llvm::IRBuilderBase& b;
};
llvm::Value* product_step(const ProductStep& context, llvm::Value* left, llvm::Value* right, llvm::Value* sum);

/// A ProductMicro of `rows` by `vectors`; with `part`, the last vector may have fewer columns.
llvm::Function* emit_product_tile(const ProductEmission& e, int rows, int vectors, bool part);

/// A ProductMicro of `rows` by the columns of several panels.
llvm::Function* emit_product_panels(const ProductEmission& e, int rows, int panels);

/// A ProductMicro for ProductKernels::Dot.
llvm::Function* emit_product_dot(const ProductEmission& e, int rows, int columns);

/// The functions of MatrixKernels; a tile is `high` times 16 rows.
llvm::Function* emit_matrix_begin(const ProductEmission& e);
llvm::Function* emit_matrix_end(const ProductEmission& e);
llvm::Function* emit_matrix_tile(const ProductEmission& e, int high);

/// The ProductPack functions.
llvm::Function* emit_pack_rows(const ProductEmission& e);
llvm::Function* emit_pack_columns(const ProductEmission& e);
llvm::Function* emit_pack_left(const ProductEmission& e);

}  // namespace tenon::codegen
