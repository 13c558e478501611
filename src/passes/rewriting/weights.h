// Products with constant weights.
#pragma once

#include <optional>
#include <vector>

#include "ir/node.h"

namespace tenon::passes {

/// A convolution or product with constant weights.
struct WeightedProduct {
  Value value;
  size_t weights = 1;                // which operand they are
  std::vector<int> axis_of_weights;  // for each axis of the result; -1 for those that are not of the weights

  const Array& constant() const { return value.node().inputs[weights].node().as<Constant>()->value; }
};

/// The value as such a product of its own dtype, if it is one.
std::optional<WeightedProduct> as_weighted_product(const Value& value);

}  // namespace tenon::passes
