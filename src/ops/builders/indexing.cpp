// Picking and writing by position, in the forms that NumPy and ONNX know, built on Gather and Scatter.
#include "tenon/indexing.h"

#include "base/fail.h"
#include "base/refused.h"
#include "ops/axes.h"
#include "ops/make.h"

namespace tenon {
namespace {

/// A pick whose result has the axes of its indices in another order.
struct Pick {
  std::vector<Value> indices;
  GatherAxes axes;
  std::vector<int> order;  // result axis i is axis order[i] of the index
};

/// Pick position by position: axes of one extent are batch axes, along the others index positions pick themselves.
Pick pick_along(const Value& x, const Value& index, int axis) {
  if (index.rank() != x.rank()) {
    refuse("the index has rank {}, must have {}", index.rank(), x.rank());
  }
  Pick pick;
  std::vector<int> others;
  for (int i = 0; i < x.rank(); ++i) {
    if (i != axis && x.extent(i) == index.extent(i)) {
      pick.axes.x_batch.push_back(i);
      pick.axes.index_batch.push_back(i);
      continue;
    }
    if (i != axis &&
        decide({.kind = Constraint::Kind::at_least, .lhs = x.extent(i), .rhs = index.extent(i)}) == Verdict::fails) {
      refuse("axis {} of the index is {}, more than the {} of {}", i, index.shape().axis(i).to_string(),
             x.shape().axis(i).to_string(), describe(x));
    }
    others.push_back(i);
    pick.axes.axes.push_back(i);
    pick.indices.push_back(i == axis ? index : iota(index.shape(), i));
  }
  pick.order = pick.axes.x_batch;
  pick.order.insert(pick.order.end(), others.begin(), others.end());
  return pick;
}

std::vector<int> inverse(const std::vector<int>& order) {
  std::vector<int> result(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    result[static_cast<size_t>(order[i])] = static_cast<int>(i);
  }
  return result;
}

/// The last axis of `indices` as operands of their own.
Pick pick_tuples(const Value& x, const Value& indices, int batch_dims) {
  if (indices.rank() < 1 || batch_dims < 0 || batch_dims >= indices.rank()) {
    refuse("{} batch axes and an axis of positions do not fit {}", batch_dims, indices.shape().to_string());
  }
  const auto count = indices.extent(-1).constant();
  if (!count) {
    refuse("the last axis of the indices, {}, must be static: it says how many axes positions are for",
           indices.shape().axis(-1).to_string());
  }
  if (*count < 1 || batch_dims + *count > x.rank()) {
    refuse("positions along {} axes behind {} batch axes do not fit {}", *count, batch_dims, x.shape().to_string());
  }
  Pick pick;
  for (int i = 0; i < batch_dims; ++i) {
    pick.axes.x_batch.push_back(i);
    pick.axes.index_batch.push_back(i);
  }
  for (int i = 0; i < static_cast<int>(*count); ++i) {
    pick.axes.axes.push_back(batch_dims + i);
    pick.indices.push_back(squeeze(slice_axis(indices, -1, i, Extent(i + 1)), {-1}));
  }
  return pick;
}

}  // namespace

Value take_along_axis(const Value& x, const Value& index, int axis) {
  return in_context("take_along_axis", {x, index}, [&] {
    const Pick pick = pick_along(x, index, x.shape().normalize_axis(axis));
    return transpose(gather(x, pick.indices, pick.axes), inverse(pick.order));
  });
}

Value scatter_along_axis(const Value& x, const Value& index, const Value& update, int axis, std::string_view op) {
  return in_context("scatter_along_axis", {x, index, update}, [&] {
    const Pick pick = pick_along(x, index, x.shape().normalize_axis(axis));
    if (update.rank() != index.rank()) {
      refuse("the update has rank {}, the index {}", update.rank(), index.rank());
    }
    return scatter(x, transpose(update, pick.order), pick.indices, pick.axes, op);
  });
}

Value gather_nd(const Value& x, const Value& indices, int batch_dims) {
  return in_context("gather_nd", {x, indices}, [&] {
    const Pick pick = pick_tuples(x, indices, batch_dims);
    return gather(x, pick.indices, pick.axes);
  });
}

Value scatter_nd(const Value& x, const Value& indices, const Value& update, std::string_view op, int batch_dims) {
  return in_context("scatter_nd", {x, indices, update}, [&] {
    const Pick pick = pick_tuples(x, indices, batch_dims);
    return scatter(x, update, pick.indices, pick.axes, op);
  });
}

Value diagonal(const Value& x, int axis1, int axis2, int64_t offset) {
  return in_context("diagonal", {x}, [&] {
    const std::vector<int> axes = normalize_axes({axis1, axis2}, x.shape());
    const Extent first = offset < 0 ? Extent(-offset) : Extent(0);
    const Extent second = offset < 0 ? Extent(0) : Extent(offset);
    const Extent length = simplify(max(0, min(x.extent(axes[0]) - first, x.extent(axes[1]) - second)));
    const Shape positions = shape(Dtype::i64, length == x.extent(axes[0]) ? x.shape().axis(axes[0]) : Axis(length));
    const Value picked = gather(x, {iota(positions, 0, first), iota(positions, 0, second)}, {.axes = axes});
    Axes order;
    for (int i = 1; i < picked.rank(); ++i) {
      order.push_back(i);
    }
    order.push_back(0);
    return transpose(picked, order);
  });
}

}  // namespace tenon
