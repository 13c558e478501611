#include "ops/macs.h"

namespace tenon {

Extent macs(const Node& node) {
  Extent count = 0;
  if (const auto* contract = node.as<Contract>()) {
    count = node.shapes[0].element_count();
    for (const int axis : contract->lhs_contract) {
      count = count * node.inputs[0].extent(axis);
    }
  } else if (const auto* conv = node.as<Conv>()) {
    const Shape& weight = node.inputs[1].shape();
    const Shape& result = node.shapes[0];
    count = result.extent(0) * result.extent(1) * weight.extent(1);
    for (size_t i = 0; i < conv->stride.size(); ++i) {
      const int axis = static_cast<int>(i) + 2;
      // Each element meets each offset where the stride lets it; zeros between elements are multiplied by nobody.
      const Extent pairs = conv->x_dilation[i] == 1
                               ? result.extent(axis) * weight.extent(axis)
                               : ceildiv(node.inputs[0].extent(axis) * weight.extent(axis), conv->stride[i]);
      count = count * pairs;
    }
  }
  return count;
}

}  // namespace tenon
