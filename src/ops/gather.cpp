// Gather: picking elements by position.
#include "base/refused.h"
#include "ops/axes.h"
#include "ops/make.h"
#include "tenon/ops.h"

namespace tenon {

Inferred infer(const Gather& op, Operands in) {
  const Value& x = in[0];
  const auto indices = in.subspan(1);
  if (indices.empty() || indices.size() != op.axes.size()) {
    refuse("has {} index operands for {} axes", indices.size(), op.axes.size());
  }
  if (op.x_batch.size() != op.index_batch.size()) {
    refuse("batch axes come in pairs");
  }
  std::vector<int> used = op.x_batch;
  used.insert(used.end(), op.axes.begin(), op.axes.end());
  require_axes(used, x.shape(), "axis");
  require_axes(op.index_batch, indices[0].shape(), "index batch axis");

  Inferred result;
  std::vector<Axis> index_axes = indices[0].shape().axes();
  for (const Value& index : indices) {
    if (!is_integer(index.dtype())) {
      refuse("positions are {}, must be integers", name(index.dtype()));
    }
    if (index.rank() != indices[0].rank()) {
      refuse("index operands have ranks {} and {}", indices[0].rank(), index.rank());
    }
    for (int i = 0; i < index.rank(); ++i) {
      index_axes[static_cast<size_t>(i)] = match_axes(indices[0], i, index, i, result.constraints);
    }
  }
  std::vector<Axis> axes;
  for (size_t k = 0; k < op.x_batch.size(); ++k) {
    axes.push_back(match_axes(x, op.x_batch[k], indices[0], op.index_batch[k], result.constraints));
  }
  for (const int i : other_axes(indices[0].rank(), op.index_batch)) {
    axes.push_back(index_axes[static_cast<size_t>(i)]);
  }
  for (const int i : other_axes(x.rank(), used)) {
    axes.push_back(x.shape().axis(i));
  }
  result.shapes = {x.shape().with_axes(std::move(axes))};
  return result;
}

Value gather(const Value& x, const std::vector<Value>& indices, const GatherAxes& axes) {
  std::vector<Value> operands{x};
  operands.insert(operands.end(), indices.begin(), indices.end());
  return in_context("gather", operands, [&] {
    const Shape index_shape = indices.empty() ? Shape() : indices[0].shape();
    return make(Gather{normalize_axes(axes.axes, x.shape()), normalize_axes(axes.x_batch, x.shape()),
                       normalize_axes(axes.index_batch, index_shape)},
                operands);
  });
}

Value take(const Value& x, const Value& index, int axis) {
  return in_context("take", {x, index}, [&] {
    const int normal = x.shape().normalize_axis(axis);
    const Value picked = gather(x, {index}, {.axes = {normal}});
    // Gather puts the index axes first; NumPy and ONNX put them where the axis was.
    Axes order;
    for (int i = 0; i < normal; ++i) {
      order.push_back(index.rank() + i);
    }
    for (int i = 0; i < index.rank(); ++i) {
      order.push_back(i);
    }
    for (int i = normal; i < x.rank() - 1; ++i) {
      order.push_back(index.rank() + i);
    }
    return transpose(picked, order);
  });
}

}  // namespace tenon
