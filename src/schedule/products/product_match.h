// Sums of products among the reductions of a draft.
#pragma once

#include <vector>

#include "kernel/product/product.h"
#include "schedule/draft/draft.h"

namespace tenon::schedule {

/// A reduction that is a product: two values, and the axes that one of them, the other or both depend on.
struct ProductMatch {
  int accumulator = 0;
  int result = 0;
  int factors[2] = {0, 0};  // as the sum reads them: left and right, before narrower ones are read as they lie
  ProductTypes types = {};
  int left = 0, right = 0;
  AxisSet batch = 0, rows = 0, columns = 0, depth = 0;
};

/// The other factor is the left one: what has rows gets columns, and a narrow operand may have to be widened first.
void turn(const Draft& draft, ProductMatch& product);

/// Whether all that the stores do is to store the product, each element once: not along loops that it does not have, as
/// a broadcast of it is stored.
bool is_stored_once(const Draft& draft, const std::vector<size_t>& stores, const ProductMatch& product);

struct ConstantOperands;

/// Every product of the draft, each after those that its operands need.
std::vector<ProductMatch> find_products(const Draft& draft, const ConstantOperands& constants);

}  // namespace tenon::schedule
