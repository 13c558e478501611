// Concat: each operand gets its slice.
#include "ops/axes.h"
#include "ops/gradient/gradient.h"
#include "tenon/ops.h"

namespace tenon {

Gradients gradient(const Concat& op, const Node& node, const std::vector<Value>& outputs) {
  const auto along = static_cast<size_t>(op.axis);
  std::vector<Extent> start(static_cast<size_t>(outputs[0].rank()), 0);
  std::vector<Extent> size = extents_of(outputs[0].shape().axes());
  Gradients result;
  for (const Value& in : node.inputs) {
    size[along] = in.extent(op.axis);
    result.push_back(slice(outputs[0], start, size));
    start[along] = start[along] + size[along];
  }
  return result;
}

}  // namespace tenon
