// Update: the value gets what the path sees of the gradient, the base gets the rest.
#include "ops/gradient/gradient.h"
#include "ops/make.h"
#include "tenon/ops.h"

namespace tenon {

Gradients gradient(const Update& op, const Node& node, const std::vector<Value>& outputs) {
  Value seen = outputs[0];
  for (const View& view : op.path) {
    seen = make(as_op(view), {seen});
  }
  return {make(op, {outputs[0], full(node.inputs[1].shape(), 0)}), seen};
}

}  // namespace tenon
