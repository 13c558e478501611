// Products in blocks that suit registers and caches, out of small kernels that are made for the machine.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernel/product/product.h"
#include "kernel/product/product_matrix.h"
#include "kernel/product/product_steps.h"

namespace tenon {

/// Bytes of the caches of a core, which blocks are cut for.
struct ProductCaches {
  int64_t first = int64_t{32} << 10;
  int64_t second = int64_t{512} << 10;
};

/// The kernels for one combination of dtypes, and what they are like.
struct ProductKernels {
  static constexpr int kMostRows = 16;
  static constexpr int kMostWidths = 6;
  static constexpr int kDotRows = 4;
  static constexpr int kMostPanels = 4;
  static constexpr int kMostPairRows = 8;

  struct Tile {
    int vectors = 0;
    ProductMicro full = nullptr;  // all columns of all vectors
    ProductMicro part = nullptr;  // one or more columns of the last vector; null in tiles wider than a panel
  };

  /// Dot products of operands that are both contiguous along the depth: so many columns at once, or one.
  struct Dot {
    int columns = 0;
    ProductMicro several = nullptr;
    ProductMicro one = nullptr;
  };

  int lanes = 0;                    // columns in a vector
  int rows = 0;                     // of the highest tile as wide as a panel
  int tall_rows = 0;                // of the highest tile of one vector
  int panel = 0;                    // columns of a panel: the width of the highest tile
  bool masks = false;               // a partial tile reads nothing of `right` beyond its columns
  int step = 1;                     // neighbours in depth that tiles read together
  bool flips = false;               // bytes of the left operand have their highest bit turned when they are packed
  int left_bytes = 0;               // of an element of the left operand, as tiles read it
  int right_bytes = 0;              // likewise
  ProductPack pack_rows = nullptr;  // of a right operand whose columns are contiguous, for multiples of `step` in depth
  ProductPack pack_columns = nullptr;  // whose depth is, for multiples of `step` times `lanes`
  ProductPack pack_left = nullptr;     // `columns` neighbours in depth; null: tiles read the left operand anywhere
  ProductCaches caches = {};

  /// By rows, the widths of tiles, narrow ones first; the first one is 1.
  std::array<std::array<Tile, kMostWidths>, kMostRows + 1> tiles = {};
  std::array<int, kMostRows + 1> widths = {};
  std::array<Dot, kDotRows + 1> dots = {};  // by rows; null where there are none
  /// By how many: one row by so many whole panels side by side; null where there is none. Several rows of memory
  /// are faster than one, and more sums are under way.
  std::array<ProductMicro, kMostPanels + 1> panels = {};
  /// By rows up to `pair_rows`: two whole panels at once. Lower and wider than the highest tile: fewer loads for as
  /// many sums, which shows where a core is shared. 0: there are none.
  int pair_rows = 0;
  std::array<ProductMicro, kMostPairRows + 1> pairs = {};
  MatrixKernels matrix = {};                      // for more than a few rows
  std::vector<ProductKernels> of_many_rows = {};  // likewise: none, or one that takes the place of all but `matrix`
};

/// The product of `call`, where `scratch` is kProductScratchBytes of the caller's, aligned to 64 bytes. The bits are
/// those of reference_product() unless the target lacks fused multiply-add, a matrix unit or instructions for squares
/// of matrices sum floats, or few rows meet a right operand whose depth is contiguous: those sums run in an order of
/// their own, which sizes and strides alone decide. Squares of bf16 also lose the smallest numbers, as
/// matrix_product(). Uses one thread and allocates nothing.
void blocked_product(const ProductKernels& kernels, const ProductTypes& types, const ProductCall& call, void* scratch);

}  // namespace tenon
