#include "ops/gradient/gradient.h"
#include "tenon/indexing.h"

namespace tenon {

Gradients gradient(const Sort& op, const Node& node, const std::vector<Value>& outputs) {
  Gradients result(node.inputs.size());
  // The inverse of a permutation is what sorts it: where each element of an operand went.
  const Value went_to = argsort(argsort(node.inputs[0], op.axis, op.descending), op.axis);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (outputs[i] && is_float(node.inputs[i].dtype())) {
      result[i] = take_along_axis(outputs[i], went_to, op.axis);
    }
  }
  return result;
}

}  // namespace tenon
