// The register tiles of products on a target.
#pragma once

#include <vector>

#include "kernel/product/product.h"
#include "native/target.h"

namespace tenon::codegen {

/// What one instruction of a tile adds to each sum.
enum class ProductForm {
  floats,   // one product, rounded once with the sum; elements of the right operand are widened as they are loaded
  bytes,    // four products of bytes
  pairs,    // two products of 16-bit integers
  words,    // one product of 32-bit integers
  squares,  // as many products as eight bytes hold, to sums of two rows by two columns in one vector
};

struct ProductShape {
  ProductForm form = ProductForm::floats;
  Dtype left = Dtype::f32;  // as tiles read the operands
  Dtype right = Dtype::f32;
  bool flips = false;  // bytes of the left operand have their highest bit turned: their sign is the other one
  int step = 1;        // neighbours in depth that one instruction sums
  int bits = 0;        // of a vector
  int lanes = 0;       // sums in it
  int rows = 0;        // of the highest tile as wide as a panel
  int vectors = 0;     // of its columns; a panel has as many
  bool masks = false;  // loads of part of a vector are instructions
  std::vector<std::vector<int>> widths;  // by rows, in vectors; up to the highest tile, which may have one alone
  int pair_rows = 0;                     // of the highest tile of two panels; 0: there are none
  std::vector<int> dot_columns;          // by rows: of a dot product; empty: there are none

  /// Vectors of sums of a tile, and of what a step reads of the left and of the right operand for them.
  int lefts(int tile_rows) const { return form == ProductForm::squares ? (tile_rows + 1) / 2 : tile_rows; }
  int rights(int tile_vectors) const { return form == ProductForm::squares ? 2 * tile_vectors : tile_vectors; }
  int sums(int tile_rows, int tile_vectors) const { return lefts(tile_rows) * rights(tile_vectors); }

  /// Whether they are columns by rows: where signs differ, the unsigned operand comes first.
  bool squares_are_transposed() const { return left == Dtype::i8 && right == Dtype::u8; }

  /// Bytes of what a lane reads of the right operand in one step.
  int right_unit() const { return step * static_cast<int>(byte_size(right)); }
};

ProductShape product_shape(const ProductTypes& types, const Target& target);

/// Whether there are tiles of squares for floats, too, for more than a few rows, and how they are.
bool has_float_squares(const ProductTypes& types, const Target& target);
ProductShape float_squares_shape(const ProductTypes& types, const Target& target);

/// Whether the target has a matrix unit for these types, and how panels lie for it.
bool has_matrix_unit(const ProductTypes& types, const Target& target);
ProductShape matrix_shape(const ProductTypes& types, const Target& target);

}  // namespace tenon::codegen
