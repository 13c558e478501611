// Concat: operands one after the other.
#include "base/refused.h"
#include "ops/axes.h"
#include "ops/make.h"
#include "tenon/ops.h"

namespace tenon {

Inferred infer(const Concat& op, Operands in) {
  if (in.empty()) {
    refuse("needs at least one operand");
  }
  const Shape& first = in[0].shape();
  if (op.axis < 0 || op.axis >= first.rank()) {
    refuse("axis {} is out of range for {}", op.axis, first.to_string());
  }
  Inferred result;
  std::vector<Axis> axes = first.axes();
  Extent total = first.extent(op.axis);
  for (size_t k = 1; k < in.size(); ++k) {
    if (in[k].dtype() != first.dtype() || in[k].rank() != first.rank()) {
      refuse("joins {} and {}; dtype and rank must agree", first.to_string(), in[k].shape().to_string());
    }
    for (int i = 0; i < first.rank(); ++i) {
      if (i != op.axis) {
        axes[static_cast<size_t>(i)] = match_axes(in[0], i, in[k], i, result.constraints);
      }
    }
    total = total + in[k].extent(op.axis);
  }
  if (in.size() > 1) {
    axes[static_cast<size_t>(op.axis)] = Axis(total);
  }
  result.shapes = {first.with_axes(std::move(axes))};
  return result;
}

Value concat(const std::vector<Value>& values, int axis) {
  return in_context("concat", values, [&]() -> Value {
    if (values.empty()) {
      refuse("needs at least one operand");
    }
    const int normal = values[0].shape().normalize_axis(axis);
    return values.size() == 1 ? values[0] : make(Concat{normal}, values);
  });
}

}  // namespace tenon
