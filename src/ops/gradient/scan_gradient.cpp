#include "ops/gradient/gradient.h"
#include "tenon/indexing.h"

namespace tenon {
namespace {

/// Element i enters every product from its own on. An element that is not 0 divides out of them, also where they are 0.
/// The first 0 of a line has the products without it; those hold every later 0, which so gets 0.
Value of_product(const Scan& op, const Value& x, const Value& y, const Value& g) {
  const Value is_zero = eq(x, 0);
  const Value zeros_before = cumulative_sum(cast(is_zero, Dtype::i64), op.axis, true, op.reverse);
  const Value first_zero = logical_and(is_zero, eq(zeros_before, 0));
  const Value one = full(x.shape(), 1);
  const Value without_it = cumulative_product(select(first_zero, one, x), op.axis, op.exclusive, op.reverse);
  const auto from_own_on = [&](const Value& v) { return cumulative_sum(v, op.axis, op.exclusive, !op.reverse); };
  const Value divided = from_own_on(g * y) / select(is_zero, one, x);
  return select(is_zero, from_own_on(g * without_it), divided);
}

/// Each result is one element of x: the first that reached the extreme. For scans from the front.
Value of_extreme(const Scan& op, const Value& x, const Value& g) {
  const bool maximum = op.op == ReduceOp::max;
  const Value position = iota(x.shape().with_dtype(Dtype::i64), op.axis);
  const Value is_first = eq(position, 0);
  const Value previous = maximum ? cumulative_max(x, op.axis, true) : cumulative_min(x, op.axis, true);
  const Value record = logical_or(is_first, maximum ? gt(x, previous) : lt(x, previous));
  // Positions only grow, so the latest record is the largest; before the first element there is none.
  const Value latest = cumulative_max(select(record, position, zeros_like(position)), op.axis, op.exclusive);
  const Value flowing = op.exclusive ? select(is_first, zeros_like(g), g) : g;
  return scatter_along_axis(zeros_like(x), max(latest, 0), flowing, op.axis, "add");
}

}  // namespace

Gradients gradient(const Scan& op, const Node& node, const std::vector<Value>& outputs) {
  const Value& x = node.inputs[0];
  const Value& g = outputs[0];
  if (!g || !is_float(x.dtype())) {
    return {Value()};
  }
  switch (op.op) {
    case ReduceOp::sum: return {cumulative_sum(g, op.axis, op.exclusive, !op.reverse)};
    case ReduceOp::product: return {of_product(op, x, Value(&node, 0), g)};
    default: break;
  }
  const auto turned = [&](const Value& v) { return op.reverse ? flip(v, {op.axis}) : v; };
  return {turned(of_extreme(op, turned(x), turned(g)))};
}

}  // namespace tenon
