// Scatter: writing elements by position.
#include <algorithm>

#include "base/refused.h"
#include "ops/axes.h"
#include "ops/make.h"
#include "tenon/indexing.h"

namespace tenon {

Inferred infer(const Scatter& op, Operands in) {
  const Value& x = in[0];
  const Value& update = in[1];
  if (update.dtype() != x.dtype()) {
    refuse("the update is {}, must be {}", name(update.dtype()), name(x.dtype()));
  }
  if (x.dtype() == Dtype::boolean && op.op != ScatterOp::set) {
    refuse("{} is not for bool", spellings(op.op)[static_cast<size_t>(op.op)]);
  }
  // The update has the shape that picking the same places gives.
  const Gather picking{op.axes, op.x_batch, op.index_batch};
  std::vector<Value> operands{x};
  operands.insert(operands.end(), in.begin() + 2, in.end());
  Inferred picked = infer(picking, operands);
  const Shape places = picked.shapes[0];
  if (update.rank() != places.rank()) {
    refuse("the update is {}, must be {}", update.shape().to_string(), places.to_string());
  }
  Inferred result{{x.shape()}, picked.constraints};
  const Value picked_value = intern(picking, std::move(operands), std::move(picked.shapes), {});
  for (int i = 0; i < places.rank(); ++i) {
    if (compare(update.extent(i), places.extent(i)) == Comparison::different) {
      refuse("axis {} of the update is {}, must be {}", i, update.shape().axis(i).to_string(),
             places.axis(i).to_string());
    }
    match_axes(update, i, picked_value, i, result.constraints);
  }
  return result;
}

Value scatter(const Value& x, const Value& update, const std::vector<Value>& indices, const GatherAxes& axes,
              std::string_view op) {
  std::vector<Value> operands{x, update};
  operands.insert(operands.end(), indices.begin(), indices.end());
  return in_context("scatter", operands, [&] {
    constexpr auto ops = spellings(ScatterOp{});
    const auto found = std::ranges::find(ops, op);
    if (found == ops.end()) {
      refuse("`{}` is none of set, add, mul, max, min", op);
    }
    const Shape index_shape = indices.empty() ? Shape() : indices[0].shape();
    return make(Scatter{static_cast<ScatterOp>(found - ops.begin()), normalize_axes(axes.axes, x.shape()),
                        normalize_axes(axes.x_batch, x.shape()), normalize_axes(axes.index_batch, index_shape)},
                operands);
  });
}

}  // namespace tenon
