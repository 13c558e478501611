// Gather: gradients are added up where the elements were read.
#include "ops/gradient/gradient.h"
#include "ops/make.h"
#include "tenon/ops.h"

namespace tenon {

Gradients gradient(const Gather& op, const Node& node, const std::vector<Value>& outputs) {
  std::vector<Value> operands{full(node.inputs[0].shape(), 0), outputs[0]};
  operands.insert(operands.end(), node.inputs.begin() + 1, node.inputs.end());
  Gradients result(node.inputs.size());
  result[0] = make(Scatter{ScatterOp::add, op.axes, op.x_batch, op.index_batch}, std::move(operands));
  return result;
}

}  // namespace tenon
