// Reshape: the same elements under other axes; and adding or dropping axes of size 1, which are reshapes.
#include <algorithm>

#include "base/refused.h"
#include "ops/axes.h"
#include "ops/make.h"
#include "tenon/ops.h"

namespace tenon {
namespace {

Extent product(const std::vector<Axis>& axes) {
  Extent count = 1;
  for (const Axis& axis : axes) {
    count = count * axis.extent();
  }
  return count;
}

/// Extents of one side that the other does not have. Cancelling shared axes first lets `[batch, 6]` against
/// `[batch, 2, 2]` be refused although both hold 0 elements for an empty batch.
std::vector<Axis> without_shared(const std::vector<Axis>& axes, std::vector<Axis> other) {
  std::vector<Axis> rest;
  for (const Axis& axis : axes) {
    const auto same = std::ranges::find(other, axis.extent(), &Axis::extent);
    if (same == other.end()) {
      rest.push_back(axis);
    } else {
      other.erase(same);
    }
  }
  return rest;
}

/// The extent of the one axis that takes what is left.
Extent infer_axis(const Shape& x, const std::vector<Axis>& known) {
  const Extent total = product(without_shared(x.axes(), known));
  const Extent rest = product(without_shared(known, x.axes()));
  if (rest == Extent(0)) {
    refuse("-1 is not determined beside an axis of size 0");
  }
  if (const auto exact = divide_exactly(total, rest)) {
    return *exact;
  }
  if (total.is_constant() && rest.is_constant()) {
    refuse("{} has {} elements, not a multiple of {}", x.to_string(), x.element_count().to_string(),
           product(known).to_string());
  }
  return floordiv(total, rest);  // infer() adds the check that nothing is lost
}

}  // namespace

Inferred infer_view(const Reshape& view, const Shape& x) {
  Inferred result{{x.with_axes(view.to)}};
  const Extent from = product(without_shared(x.axes(), view.to));
  const Extent to = product(without_shared(view.to, x.axes()));
  // Cancelling a shared 0 hides that nothing is left to differ.
  const bool both_empty = x.element_count() == Extent(0) && result.shapes[0].element_count() == Extent(0);
  const Comparison comparison = both_empty ? Comparison::equal : compare(from, to);
  if (comparison == Comparison::different) {
    refuse("{} has {} elements, {} has {}", x.to_string(), x.element_count().to_string(), result.shapes[0].to_string(),
           result.shapes[0].element_count().to_string());
  }
  if (comparison == Comparison::unknown) {
    // Without what both sides share, so that the message names the axis, and an empty axis elsewhere hides nothing.
    result.constraints.push_back({.kind = Constraint::Kind::equal, .lhs = from, .rhs = to});
  }
  for (const Axis& axis : view.to) {
    result.constraints.push_back({.kind = Constraint::Kind::at_least, .lhs = axis.extent(), .rhs = 0});
  }
  return result;
}

Inferred infer(const Reshape& op, Operands in) { return infer_view(op, in[0].shape()); }

Value reshape(const Value& x, const std::vector<Axis>& to) {
  return in_context("reshape", {x}, [&]() -> Value {
    std::vector<Axis> known;
    for (const Axis& axis : to) {
      if (!axis.is_anonymous()) {
        known.push_back(axis);
      }
    }
    if (known.size() + 1 < to.size()) {
      refuse("only one axis may be -1, not {}", to.size() - known.size());
    }
    std::vector<Axis> axes = to;
    for (Axis& axis : axes) {
      axis = axis.is_anonymous() ? Axis(infer_axis(x.shape(), known)) : axis;
    }
    return axes == x.shape().axes() ? x : make(Reshape{std::move(axes)}, {x});
  });
}

Value expand_dims(const Value& x, const Axes& axes) {
  return in_context("expand_dims", {x}, [&] {
    const int rank = x.rank() + static_cast<int>(axes.size());
    const std::vector<Axis> blank(static_cast<size_t>(rank), Axis(1));
    const std::vector<int> added = normalize_axes(axes, x.shape().with_axes(blank));
    std::vector<Axis> to = blank;
    const std::vector<int> kept = other_axes(rank, added);
    for (size_t i = 0; i < kept.size(); ++i) {
      to[static_cast<size_t>(kept[i])] = x.shape().axes()[i];
    }
    return reshape(x, to);
  });
}

Value squeeze(const Value& x, const Axes& axes) {
  return in_context("squeeze", {x}, [&] {
    const std::vector<int> dropped = normalize_axes(axes, x.shape());
    for (const int i : dropped) {
      if (x.shape().axis(i).is_static() && x.extent(i) != Extent(1)) {
        refuse("axis {} is {}, must be 1", i, x.shape().axis(i).to_string());
      }
    }
    std::vector<Axis> to;
    for (const int i : other_axes(x.rank(), dropped)) {
      to.push_back(x.shape().axis(i));
    }
    return reshape(x, to);
  });
}

}  // namespace tenon
