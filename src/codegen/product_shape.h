// The register tiles of products on a target.
#pragma once

#include <vector>

#include "codegen/target.h"
#include "kernel/product.h"

namespace tenon::codegen {

struct ProductShape {
  int lanes = 0;                         // sums in a vector
  int rows = 0;                          // of the highest tile
  int vectors = 0;                       // of its columns; a panel has as many
  int step = 1;                          // neighbours in depth that one instruction sums
  bool masks = false;                    // loads of part of a vector are instructions
  std::vector<std::vector<int>> widths;  // by rows, in vectors
  std::vector<int> dot_columns;          // by rows: of a dot product
};

ProductShape product_shape(const ProductTypes& types, const Target& target);

}  // namespace tenon::codegen
