// Gather: gradients are added up where the elements were read.
#include <algorithm>
#include <numeric>

#include "ops/axes.h"
#include "ops/gradient/gradient.h"
#include "ops/make.h"
#include "tenon/ops.h"

namespace tenon {
namespace {

/// 0 ... count-1, in memory where the count is known: something to look positions up in.
Value counted(const Extent& count) {
  constexpr int64_t kMostConstant = int64_t{1} << 16;
  const auto number = count.constant();
  if (!number || *number > kMostConstant) {
    return iota(Shape(Dtype::i64, {Axis(count)}));
  }
  std::vector<int64_t> values(static_cast<size_t>(*number));
  std::iota(values.begin(), values.end(), 0);
  return constant(Array::from<int64_t>({*number}, values));
}

/// One element of every row is read: the gradient goes there, and all others of the row get 0. Rows are written whole
/// in any case, so a comparison costs no more than zeros and a scatter, and it fuses. Positions are looked up, which
/// counts negative ones from the end and refuses others that are not there, as the gather does.
Value gradient_of_picked(const Gather& op, const Value& x, const Value& index, const Value& g) {
  const int axis = op.axes[0];
  Axes index_to(op.index_batch.size());  // which axis of x each axis of the index is
  for (size_t i = 0; i < op.index_batch.size(); ++i) {
    index_to[static_cast<size_t>(op.index_batch[i])] = op.x_batch[i];
  }
  Axes g_to = op.x_batch;  // ... and each axis of the result
  const std::vector<int> rest = other_axes(x.rank(), op.x_batch, {axis});
  g_to.insert(g_to.end(), rest.begin(), rest.end());
  const std::vector<Axis>& axes = x.shape().axes();
  const Value found = broadcast(take(counted(x.extent(axis)), index), axes, index_to);
  const Value here = eq(iota(Shape(Dtype::i64, axes), axis), found);
  return select(here, broadcast(g, axes, g_to), 0);
}

}  // namespace

Gradients gradient(const Gather& op, const Node& node, const std::vector<Value>& outputs) {
  Gradients result(node.inputs.size());
  if (op.axes.size() == 1 && std::ssize(op.index_batch) == node.inputs[1].rank()) {
    result[0] = gradient_of_picked(op, node.inputs[0], node.inputs[1], outputs[0]);
    return result;
  }
  std::vector<Value> operands{full(node.inputs[0].shape(), 0), outputs[0]};
  operands.insert(operands.end(), node.inputs.begin() + 1, node.inputs.end());
  result[0] = make(Scatter{ScatterOp::add, op.axes, op.x_batch, op.index_batch}, std::move(operands));
  return result;
}

}  // namespace tenon
