#include "ops/macs.h"

namespace tenon {

Extent macs(const Node& node) {
  Extent count = 0;
  if (const auto* contract = node.as<Contract>()) {
    count = node.shapes[0].element_count();
    for (const int axis : contract->lhs_contract) {
      count = count * node.inputs[0].extent(axis);
    }
  } else if (node.as<Conv>() != nullptr) {
    count = node.shapes[0].element_count();
    const Shape& weight = node.inputs[1].shape();
    for (int axis = 1; axis < weight.rank(); ++axis) {
      count = count * weight.extent(axis);
    }
  }
  return count;
}

}  // namespace tenon
