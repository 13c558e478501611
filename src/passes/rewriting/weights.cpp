#include "passes/rewriting/weights.h"

#include <algorithm>

#include "ops/axes.h"

namespace tenon::passes {

std::optional<WeightedProduct> as_weighted_product(const Value& value) {
  const Node& node = value.node();
  const auto is_constant = [&](size_t i) { return node.inputs[i].node().as<Constant>() != nullptr; };
  const int rank = value.rank();
  WeightedProduct product{
      .value = value, .weights = 1, .axis_of_weights = std::vector<int>(static_cast<size_t>(rank), -1)};
  if (node.as<Conv>() != nullptr && is_constant(1) && node.inputs[0].dtype() == value.dtype()) {
    product.axis_of_weights[1] = 0;
    return product;
  }
  const auto* contract = node.as<Contract>();
  if (contract == nullptr || is_constant(0) == is_constant(1) || node.inputs[0].dtype() != value.dtype()) {
    return std::nullopt;
  }
  product.weights = is_constant(1) ? 1 : 0;
  const bool right = product.weights == 1;
  const int batch = static_cast<int>(contract->lhs_batch.size());
  const std::vector<int>& own_batch = right ? contract->rhs_batch : contract->lhs_batch;
  const std::vector<int>& own_contract = right ? contract->rhs_contract : contract->lhs_contract;
  const std::vector<int> free = other_axes(node.inputs[product.weights].rank(), own_batch, own_contract);
  std::ranges::copy(own_batch, product.axis_of_weights.begin());
  const int first = right ? rank - static_cast<int>(free.size()) : batch;
  std::ranges::copy(free, product.axis_of_weights.begin() + first);
  return product;
}

}  // namespace tenon::passes
