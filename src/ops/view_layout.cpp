// Transpose, Flip and Broadcast: views that move or repeat whole axes.
#include <algorithm>

#include "base/refused.h"
#include "ops/axes.h"
#include "ops/make.h"
#include "tenon/ops.h"

namespace tenon {

Inferred infer_view(const Transpose& view, const Shape& x) {
  if (static_cast<int>(view.axes.size()) != x.rank()) {
    refuse("lists {} axes for {}", view.axes.size(), x.to_string());
  }
  require_axes(view.axes, x, "axis");
  std::vector<Axis> axes;
  for (const int i : view.axes) {
    axes.push_back(x.axis(i));
  }
  return {{x.with_axes(std::move(axes))}};
}

Inferred infer(const Transpose& op, Operands in) { return infer_view(op, in[0].shape()); }

Value transpose(const Value& x, const Axes& axes) {
  return in_context("transpose", {x}, [&]() -> Value {
    std::vector<int> order = axes.empty() ? other_axes(x.rank(), {}) : normalize_axes(axes, x.shape());
    if (axes.empty()) {
      std::ranges::reverse(order);
    }
    return std::ranges::is_sorted(order) && static_cast<int>(order.size()) == x.rank() ? x
                                                                                       : make(Transpose{order}, {x});
  });
}

Inferred infer_view(const Flip& view, const Shape& x) {
  require_axes(view.axes, x, "axis");
  return {{x}};
}

Inferred infer(const Flip& op, Operands in) { return infer_view(op, in[0].shape()); }

Value flip(const Value& x, const Axes& axes) {
  return in_context("flip", {x}, [&]() -> Value {
    std::vector<int> sorted = normalize_axes(axes, x.shape());
    std::ranges::sort(sorted);
    return sorted.empty() ? x : make(Flip{sorted}, {x});
  });
}

Inferred infer_view(const Broadcast& view, const Shape& x) {
  const Shape to = x.with_axes(view.to);
  if (static_cast<int>(view.axes.size()) != x.rank()) {
    refuse("places {} axes of {}", view.axes.size(), x.to_string());
  }
  require_axes(view.axes, to, "result axis");
  if (!std::ranges::is_sorted(view.axes)) {
    refuse("keeps axes in order; transpose first");
  }
  Inferred result{{to}};
  for (int i = 0; i < x.rank(); ++i) {
    const int j = view.axes[static_cast<size_t>(i)];
    const Extent& from = x.extent(i);
    const Extent& target = to.extent(j);
    if (from.is_constant() && target.is_constant() && from != Extent(1) && from != target) {
      refuse("axis {} is {}, must be 1 or {} to fit {}", i, x.axis(i).to_string(), target.to_string(), to.to_string());
    }
    result.constraints.push_back({.kind = Constraint::Kind::broadcasts, .lhs = from, .rhs = target});
  }
  for (const Axis& axis : view.to) {
    result.constraints.push_back({.kind = Constraint::Kind::at_least, .lhs = axis.extent(), .rhs = 0});
  }
  return result;
}

Inferred infer(const Broadcast& op, Operands in) { return infer_view(op, in[0].shape()); }

Value broadcast(const Value& x, const std::vector<Axis>& to, const Axes& axes) {
  return in_context("broadcast", {x}, [&]() -> Value {
    const std::vector<int> places = normalize_axes(axes, x.shape().with_axes(to));
    return to == x.shape().axes() && std::ranges::is_sorted(places) ? x : make(Broadcast{to, places}, {x});
  });
}

Value broadcast_to(const Value& x, const std::vector<Axis>& to) {
  return in_context("broadcast_to", {x}, [&] {
    const int missing = static_cast<int>(to.size()) - x.rank();
    if (missing < 0) {
      refuse("has rank {}, more than the {} axes to broadcast to", x.rank(), to.size());
    }
    Axes places;
    for (int i = 0; i < x.rank(); ++i) {
      places.push_back(missing + i);
    }
    return broadcast(x, to, places);
  });
}

}  // namespace tenon
