// Reduce: combining elements along axes.
#include <algorithm>
#include <optional>

#include "base/refused.h"
#include "ops/axes.h"
#include "ops/make.h"
#include "tenon/ops.h"

namespace tenon {
namespace {

bool gives_position(ReduceOp op) { return op == ReduceOp::argmax || op == ReduceOp::argmin; }
bool is_logical(ReduceOp op) { return op == ReduceOp::any || op == ReduceOp::all; }

Value reduce(ReduceOp op, const Value& x, const Axes& axes, bool keep) {
  const std::string_view spelled = spellings(op)[static_cast<size_t>(op)];
  const std::string builder = gives_position(op) ? std::string(spelled) : fmt::format("reduce_{}", spelled);
  return in_context(builder, {x}, [&] {
    const std::vector<int> normal = axes.empty() ? other_axes(x.rank(), {}) : normalize_axes(axes, x.shape());
    // Sorted, so that equal reductions are one node however their axes were listed.
    std::vector<int> sorted = normal;
    std::ranges::sort(sorted);
    const Value reduced = make(Reduce{.op = op, .axes = sorted}, {x});
    return keep ? expand_dims(reduced, sorted) : reduced;
  });
}

Value position(ReduceOp op, const Value& x, std::optional<int> axis, bool keep) {
  if (axis) {
    return reduce(op, x, {*axis}, keep);
  }
  Extent count = 1;
  for (const Axis& each : x.shape().axes()) {
    count *= each.extent();
  }
  const Value found = reduce(op, reshape(x, {Axis(count)}), {0}, false);
  return keep ? reshape(found, std::vector<Axis>(static_cast<size_t>(x.rank()), Axis(1))) : found;
}

}  // namespace

Inferred infer(const Reduce& op, Operands in) {
  const Shape& x = in[0].shape();
  require_axes(op.axes, x, "axis");
  if (is_logical(op.op) != (x.dtype() == Dtype::boolean)) {
    refuse("{} is not for {}", spellings(op.op)[static_cast<size_t>(op.op)], name(x.dtype()));
  }
  Inferred result;
  if (gives_position(op.op)) {
    if (op.axes.size() != 1) {
      refuse("takes one axis, not {}", op.axes.size());
    }
    result.constraints.push_back({.kind = Constraint::Kind::at_least, .lhs = x.extent(op.axes[0]), .rhs = 1});
  }
  std::vector<Axis> axes;
  for (const int i : other_axes(x.rank(), op.axes)) {
    axes.push_back(x.axis(i));
  }
  result.shapes = {Shape(gives_position(op.op) ? Dtype::i64 : x.dtype(), std::move(axes))};
  return result;
}

Value reduce_sum(const Value& x, const Axes& axes, bool keep) { return reduce(ReduceOp::sum, x, axes, keep); }
Value reduce_product(const Value& x, const Axes& axes, bool keep) { return reduce(ReduceOp::product, x, axes, keep); }
Value reduce_max(const Value& x, const Axes& axes, bool keep) { return reduce(ReduceOp::max, x, axes, keep); }
Value reduce_min(const Value& x, const Axes& axes, bool keep) { return reduce(ReduceOp::min, x, axes, keep); }
Value reduce_any(const Value& x, const Axes& axes, bool keep) { return reduce(ReduceOp::any, x, axes, keep); }
Value reduce_all(const Value& x, const Axes& axes, bool keep) { return reduce(ReduceOp::all, x, axes, keep); }
Value argmax(const Value& x, std::optional<int> axis, bool keep) { return position(ReduceOp::argmax, x, axis, keep); }
Value argmin(const Value& x, std::optional<int> axis, bool keep) { return position(ReduceOp::argmin, x, axis, keep); }

Value reduce_mean(const Value& x, const Axes& axes, bool keep) {
  return in_context("reduce_mean", {x}, [&] {
    if (!is_float(x.dtype())) {
      refuse("is for floats, not {}; cast first", name(x.dtype()));
    }
    Extent count = 1;
    for (const int i : axes.empty() ? other_axes(x.rank(), {}) : normalize_axes(axes, x.shape())) {
      count = count * x.extent(i);
    }
    // Sum and count of a half type may both be infinite where the mean is not.
    const Value wide = cast(x, compute_dtype(x.dtype()));
    return cast(reduce_sum(wide, axes, keep) / extent_value(count, wide.dtype()), x.dtype());
  });
}

}  // namespace tenon
