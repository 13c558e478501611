// Reductions.
#include <optional>

#include "base/fail.h"
#include "onnx/import/registry.h"
#include "tenon/nn.h"

namespace tenon::importer {
namespace {

using Builder = Value (*)(const Value& x, const Axes& axes, bool keep);

struct ReduceAxes {
  Axes axes;  // none: all
  bool none = false;
};

/// Axes are an attribute until opset `operand_since`, an operand from then on.
ReduceAxes axes_of(const NodeCall& call, int operand_since) {
  const bool is_operand = call.version() >= operand_since;
  const std::vector<int64_t> axes =
      is_operand ? (call.has(1) ? call.integers(1) : std::vector<int64_t>()) : call.list_attribute("axes");
  return {.axes = to_axes(axes), .none = axes.empty() && call.flag("noop_with_empty_axes")};
}

Importing reduction(Builder build, int operand_since = 18) {
  return [build, operand_since](const NodeCall& call) -> Results {
    const ReduceAxes axes = axes_of(call, operand_since);
    // Over no axes, elements are still squared, or their logarithms taken: as over a new axis of size 1.
    return axes.none ? build(expand_dims(call.x(0), {0}), {0}, false)
                     : build(call.x(0), axes.axes, call.flag("keepdims", true));
  };
}

/// Integers have no fractions: their mean is rounded as a division is.
Value mean(const Value& x, const Axes& axes, bool keep) {
  return is_float(x.dtype()) ? reduce_mean(x, axes, keep)
                             : cast(reduce_mean(cast(x, Dtype::f64), axes, keep), x.dtype());
}

Value largest(const Value& x, const Axes& axes, bool keep) {
  return x.dtype() == Dtype::boolean ? reduce_any(x, axes, keep) : reduce_max(x, axes, keep);
}

Value smallest(const Value& x, const Axes& axes, bool keep) {
  return x.dtype() == Dtype::boolean ? reduce_all(x, axes, keep) : reduce_min(x, axes, keep);
}

/// For integers too, computed in f64 where a function of floats is in the way.
template <Value (*Build)(const Value&, const Axes&, bool)>
Value in_floats(const Value& x, const Axes& axes, bool keep) {
  return is_float(x.dtype()) ? Build(x, axes, keep) : cast(Build(cast(x, Dtype::f64), axes, keep), x.dtype());
}

Value sum_of_magnitudes(const Value& x, const Axes& axes, bool keep) { return reduce_sum(abs(x), axes, keep); }
Value sum_of_squares(const Value& x, const Axes& axes, bool keep) { return reduce_sum(square(x), axes, keep); }

Importing position(Value (*build)(const Value&, std::optional<int>, bool)) {
  return [build](const NodeCall& call) -> Results {
    const int axis = call.x(0).shape().normalize_axis(call.axis("axis", 0));
    const bool keep = call.flag("keepdims", true);
    if (!call.flag("select_last_index")) {
      return build(call.x(0), axis, keep);
    }
    return extent_value(call.x(0).extent(axis) - 1) - build(flip(call.x(0), {axis}), axis, keep);
  };
}

}  // namespace

std::vector<OperatorEntry> reduce_operators() {
  return {
      {"", "ReduceSum", 1, reduction(reduce_sum, 13)},
      {"", "ReduceMean", 1, reduction(mean)},
      {"", "ReduceMax", 1, reduction(largest)},
      {"", "ReduceMin", 1, reduction(smallest)},
      {"", "ReduceProd", 1, reduction(reduce_product)},
      {"", "ReduceL1", 1, reduction(sum_of_magnitudes)},
      {"", "ReduceL2", 1, reduction(in_floats<reduce_l2>)},
      {"", "ReduceSumSquare", 1, reduction(sum_of_squares)},
      {"", "ReduceLogSum", 1, reduction(in_floats<reduce_log_sum>)},
      {"", "ReduceLogSumExp", 1, reduction(in_floats<logsumexp>)},
      {"", "ArgMax", 1, position(argmax)},
      {"", "ArgMin", 1, position(argmin)},
  };
}

}  // namespace tenon::importer
