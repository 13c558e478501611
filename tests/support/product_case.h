// Products of small random matrices in memory that ends where they end, held against the obvious loops.
#pragma once

#include <functional>
#include <string>

#include "kernel/product/product.h"

namespace tenon {

/// A product to try. Strides are chosen from these; `panel` packs the right operand.
struct ProductCase {
  int64_t rows = 1;
  int64_t columns = 1;
  int64_t depth = 1;
  bool left_transposed = false;
  bool right_transposed = false;
  int64_t gap = 0;  // elements between rows or columns
  int64_t panel = 0;
  int64_t together = 0;  // steps side by side in panels; 0: as dot products read them
  bool accumulate = false;
  bool special = false;  // among the numbers are NaN, infinities and the smallest and largest ones
};
std::string to_string(const ProductCase& c);

/// What is wrong with the tile that `multiply` gives; empty when its bits are those of reference_product() (any NaN is
/// as good as another) and nothing around it was written. With `tolerance`, numbers may be so far apart, in units of
/// the sum of the absolute products.
std::string difference(const ProductTypes& types, const ProductCase& c,
                       const std::function<void(const ProductCall&)>& multiply, double tolerance = 0);

}  // namespace tenon
