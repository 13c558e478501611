// Operators that pick, write, order and count by position.
#include <algorithm>

#include "base/refused.h"
#include "onnx/import/element_at.h"
#include "onnx/import/registry.h"
#include "onnx/operators/quantised_product.h"
#include "tenon/assumptions.h"
#include "tenon/indexing.h"

namespace tenon::importer {
namespace {

Results gather_axis(const NodeCall& call) { return take(call.x(0), call.x(1), call.axis("axis", 0)); }

Results gather_elements(const NodeCall& call) { return take_along_axis(call.x(0), call.x(1), call.axis("axis", 0)); }

Results gather_positions(const NodeCall& call) { return gather_nd(call.x(0), call.x(1), call.axis("batch_dims", 0)); }

std::string scatter_op(const NodeCall& call) {
  const std::string reduction = call.text_attribute("reduction", "none");
  return reduction == "none" ? "set" : reduction;
}

Results scatter_elements(const NodeCall& call) {
  return scatter_along_axis(call.x(0), call.x(1), call.x(2), call.axis("axis", 0), scatter_op(call));
}

/// Exporters write `x[:, past:past+n] = y` as a scatter to all positions of a slice.
Results scatter_positions(const NodeCall& call) {
  const Value& x = call.x(0);
  const Value& positions = call.x(1);
  const Value& update = call.x(2);
  const std::string op = scatter_op(call);
  std::optional<std::vector<Extent>> start = op == "set" ? grid_start(positions) : std::nullopt;
  if (!start || update.rank() != x.rank() || std::ssize(*start) > x.rank()) {
    return scatter_nd(x, positions, update, op);
  }
  for (int i = 0; i < positions.rank() - 1; ++i) {
    call.require_equal(update.extent(i), positions.extent(i));
  }
  start->resize(static_cast<size_t>(x.rank()), 0);
  return update_slice(x, update, *start);
}

/// The values are [off, on] and need not be known; depth is.
Results one_hot_values(const NodeCall& call) {
  const Value on = one_hot(cast(call.x(0), Dtype::i64), call.extent(1), Dtype::boolean, 1, 0, call.axis("axis", -1));
  const Value& values = call.x(2);
  call.require_equal(values.shape().element_count(), 2);
  const auto value = [&](int64_t i) { return reshape(slice_axis(values, 0, i, i + 1), {}); };
  return select(on, value(1), value(0));
}

Results top_k_of(const NodeCall& call, const Extent& k) {
  const Shape& x = call.x(0).shape();
  const int axis = x.normalize_axis(call.axis("axis", -1));
  if (proves_at_least(k, x.axis(axis).extent() + 1)) {
    refuse("k is {}, axis {} of X has fewer elements: {}", k.to_string(), axis, x.to_string());
  }
  const TopK result = top_k(call.x(0), k, call.axis("axis", -1), call.flag("largest", true));
  return std::vector<Value>{result.values, result.indices};
}

Results top_k_attribute(const NodeCall& call) { return top_k_of(call, call.attribute("k")); }
Results top_k_operand(const NodeCall& call) { return top_k_of(call, call.extent(1)); }

Results cumulative(const NodeCall& call) {
  return cumulative_sum(call.x(0), static_cast<int>(call.integer(1)), call.flag("exclusive"), call.flag("reverse"));
}

Results cumulative_of_products(const NodeCall& call) {
  return cumulative_product(call.x(0), static_cast<int>(call.integer(1)), call.flag("exclusive"), call.flag("reverse"));
}

/// Position i of a sequence of length n becomes n - 1 - i; behind its end nothing moves.
Results reverse_sequence(const NodeCall& call) {
  const Value& x = call.x(0);
  const int time = x.shape().normalize_axis(call.axis("time_axis", 0));
  const int batch = x.shape().normalize_axis(call.axis("batch_axis", 1));
  const Shape grid = shape(Dtype::i64, x.extent(batch), x.extent(time));
  const Value position = iota(grid, 1);
  const Value length = expand_dims(cast(call.x(1), Dtype::i64), {1});
  const Value from = select(lt(position, length), length - position - 1, position);  // [batch, time]
  // As take_along_axis sees it: an index of the shape of x.
  const Value placed = batch < time ? from : transpose(from);
  Axes axes = {batch, time};
  std::sort(axes.begin(), axes.end());
  return take_along_axis(x, broadcast(placed, x.shape().axes(), axes), time);
}

}  // namespace

std::vector<OperatorEntry> indexing_operators() {
  return {
      {"", "Gather", 1, gather_axis, ElementUse::first_moved},
      {"", "GatherElements", 11, gather_elements, ElementUse::first_moved},
      {"", "GatherND", 11, gather_positions, ElementUse::first_moved},
      {"", "Scatter", 9, scatter_elements},
      {"", "ScatterElements", 11, scatter_elements, ElementUse::moved},
      {"", "ScatterND", 11, scatter_positions, ElementUse::moved},
      {"", "OneHot", 9, one_hot_values},
      {"", "TopK", 1, top_k_attribute},
      {"", "TopK", 10, top_k_operand},
      {"", "CumSum", 11, cumulative},
      {"", "CumProd", 26, cumulative_of_products},
      {"", "ReverseSequence", 10, reverse_sequence, ElementUse::first_moved},
  };
}

}  // namespace tenon::importer
