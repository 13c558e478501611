// Reduce: a sum spreads its gradient, an extremum hands it to the elements that reached it, a product weighs it.
#include "ops/axes.h"
#include "ops/gradient/gradient.h"
#include "ops/make.h"
#include "ops/scalar/scalar_table.h"
#include "tenon/ops.h"

namespace tenon {
namespace {

/// A reduced value repeated along the axes that were reduced.
Value spread(const Value& reduced, const Value& x, const std::vector<int>& axes) {
  return broadcast(reduced, x.shape().axes(), other_axes(x.rank(), axes));
}

/// Elements equal to the extremum share its gradient equally.
Value share(const Reduce& op, const Value& x, const Value& y, const Value& g) {
  const Dtype dtype = compute_dtype(x.dtype());  // counts stay exact beside half types
  const Value winners = cast(make(Map{&scalar_fn("eq"), Dtype::boolean}, {x, spread(y, x, op.axes)}), dtype);
  const Value count = make(Reduce{ReduceOp::sum, op.axes}, {winners});
  return cast(winners * spread(cast(g, dtype) / count, x, op.axes), x.dtype());
}

/// The product of all other elements: of those before times those after, along the reduced axes taken as one. The
/// quotient of the product by the element would be NaN at zeros and vanish with the product.
Value others(const Reduce& op, const Value& x) {
  const std::vector<int> kept = other_axes(x.rank(), op.axes);
  std::vector<int> order = kept;
  order.insert(order.end(), op.axes.begin(), op.axes.end());
  std::vector<int> back(order.size());
  std::vector<Axis> rows;
  Extent count = 1;
  for (size_t i = 0; i < order.size(); ++i) {
    back[static_cast<size_t>(order[i])] = static_cast<int>(i);
    if (i < kept.size()) {
      rows.push_back(x.shape().axis(order[i]));
    } else {
      count = count * x.extent(order[i]);
    }
  }
  rows.emplace_back(count);
  const Value moved = order.empty() ? x : transpose(x, order);
  const Value flat = reshape(moved, rows);
  const int last = static_cast<int>(kept.size());
  const auto running = [&](bool reverse) {
    return make(Scan{.op = ReduceOp::product, .axis = last, .exclusive = true, .reverse = reverse}, {flat});
  };
  const Value products = reshape(running(false) * running(true), moved.shape().axes());
  return order.empty() ? products : transpose(products, back);
}

}  // namespace

Gradients gradient(const Reduce& op, const Node& node, const std::vector<Value>& outputs) {
  const Value& x = node.inputs[0];
  const Value& g = outputs[0];
  switch (op.op) {
    case ReduceOp::sum: return {spread(g, x, op.axes)};
    case ReduceOp::product: return {others(op, x) * spread(g, x, op.axes)};
    case ReduceOp::max:
    case ReduceOp::min: return {share(op, x, Value(&node, 0), g)};
    case ReduceOp::any:
    case ReduceOp::all:
    case ReduceOp::argmax:
    case ReduceOp::argmin: break;
  }
  return {Value()};
}

}  // namespace tenon
