// Scan: running sums, products, maxima and minima.
#include "base/refused.h"
#include "ops/axes.h"
#include "ops/make.h"
#include "tenon/indexing.h"

namespace tenon {
namespace {

bool runs(ReduceOp op) {
  return op == ReduceOp::sum || op == ReduceOp::product || op == ReduceOp::max || op == ReduceOp::min;
}

Value cumulative(ReduceOp op, const Value& x, int axis, bool exclusive, bool reverse) {
  return in_context("scan", {x},
                    [&] { return make(Scan{op, x.shape().normalize_axis(axis), exclusive, reverse}, {x}); });
}

}  // namespace

Inferred infer(const Scan& op, Operands in) {
  const Shape& x = in[0].shape();
  require_axes({op.axis}, x, "axis");
  if (!runs(op.op)) {
    refuse("`{}` is none of sum, product, max, min", spellings(op.op)[static_cast<size_t>(op.op)]);
  }
  if (x.dtype() == Dtype::boolean) {
    refuse("is for numbers, not bool; cast first");
  }
  return {{x}};
}

Value cumulative_sum(const Value& x, int axis, bool exclusive, bool reverse) {
  return cumulative(ReduceOp::sum, x, axis, exclusive, reverse);
}
Value cumulative_product(const Value& x, int axis, bool exclusive, bool reverse) {
  return cumulative(ReduceOp::product, x, axis, exclusive, reverse);
}
Value cumulative_max(const Value& x, int axis, bool exclusive, bool reverse) {
  return cumulative(ReduceOp::max, x, axis, exclusive, reverse);
}
Value cumulative_min(const Value& x, int axis, bool exclusive, bool reverse) {
  return cumulative(ReduceOp::min, x, axis, exclusive, reverse);
}

}  // namespace tenon
