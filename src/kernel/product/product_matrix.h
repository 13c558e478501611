// Products by a matrix unit: squares of 16 by 16 sums whose operands are tiles of their own.
#pragma once

#include <array>
#include <cstdint>

#include "kernel/product/product.h"
#include "kernel/product/product_steps.h"

namespace tenon {

/// Kernels for one combination of dtypes. A step of depth is 64 bytes of each row of the left operand; the right one
/// lies in panels of 32 columns, in which `step` neighbours in depth lie together.
struct MatrixKernels {
  static constexpr int kRows = 16;
  static constexpr int kColumns = 32;
  static constexpr int kStepBytes = 64;

  void (*begin)() = nullptr;  // around a product, on its thread; null: there is no matrix unit
  void (*end)() = nullptr;
  std::array<ProductMicro, 3> tiles = {};  // by rows: of 16 or 32
  ProductPack pack_rows = nullptr;         // as in ProductKernels
  ProductPack pack_columns = nullptr;
  int step = 1;
};

/// As blocked_product(). Sums of floats run in the order of the unit, which sizes alone decide, and lose the smallest
/// numbers (denormals count as zero).
void matrix_product(const MatrixKernels& kernels, const ProductTypes& types, const ProductCall& call, void* scratch);

}  // namespace tenon
