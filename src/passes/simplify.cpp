#include "passes/simplify.h"

#include <algorithm>

#include "ops/axes.h"
#include "ops/make.h"
#include "passes/rewriting/merge_views.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/uniform.h"
#include "passes/rewriting/users.h"
#include "passes/simplify_maps.h"
#include "tenon/ops.h"

namespace tenon::passes {
namespace {

bool gives_position(ReduceOp op) { return op == ReduceOp::argmax || op == ReduceOp::argmin; }

/// Whether one element alone reduces to itself: the sum begins with 0, and 0 + -0 is 0.
bool keeps_one(ReduceOp op, Dtype dtype) { return !gives_position(op) && (op != ReduceOp::sum || !is_float(dtype)); }

/// Whether the elements may be combined in any order and in any groups.
bool is_regroupable(ReduceOp op, Dtype dtype) {
  return !gives_position(op) && ((op != ReduceOp::sum && op != ReduceOp::product) || !is_float(dtype));
}

std::optional<Value> without_ones(const Reduce& reduce, const Value& x) {
  Axes ones;
  std::ranges::copy_if(reduce.axes, std::back_inserter(ones), [&](int i) { return x.extent(i) == Extent(1); });
  const bool all = ones.size() == reduce.axes.size();
  if (gives_position(reduce.op) || (all && !keeps_one(reduce.op, x.dtype())) || (ones.empty() && !all)) {
    return std::nullopt;
  }
  const Value squeezed = squeeze(x, ones);
  if (all) {
    return squeezed;
  }
  Axes rest;
  for (const int axis : reduce.axes) {
    if (std::ranges::find(ones, axis) == ones.end()) {
      rest.push_back(axis - static_cast<int>(std::ranges::count_if(ones, [&](int one) { return one < axis; })));
    }
  }
  return make(Reduce{.op = reduce.op, .axes = rest}, {squeezed});
}

std::optional<Value> joined_reduce(const Reduce& outer, const Value& x) {
  const auto* inner = x.node().as<Reduce>();
  if (inner == nullptr || inner->op != outer.op || !is_regroupable(outer.op, x.dtype())) {
    return std::nullopt;
  }
  const Value& source = x.node().inputs[0];
  const std::vector<int> left = other_axes(source.rank(), inner->axes);
  Reduce both = *inner;
  for (const int axis : outer.axes) {
    both.axes.push_back(left[static_cast<size_t>(axis)]);
  }
  std::ranges::sort(both.axes);
  return make(both, {source});
}

/// `alone`: nobody else reads the first operand.
std::optional<Value> simpler(const Node& node, const std::vector<Value>& operands, bool alone) {
  if (const auto* map = node.as<Map>()) {
    // A check that operands agree in size would go with the map.
    return node.constraints.empty() ? simplified_map(*map, operands) : std::nullopt;
  }
  if (const auto* reduce = node.as<Reduce>()) {
    const std::optional<Value> fewer = without_ones(*reduce, operands[0]);
    return fewer || !alone ? fewer : joined_reduce(*reduce, operands[0]);
  }
  if (node.as<Concat>() != nullptr && operands.size() == 1) {
    return operands[0];
  }
  const std::optional<View> view = as_view(node.op);
  return view ? merged_view(*view, operands[0]) : std::nullopt;
}

/// Whether a product sums over nothing, whatever the names stand for.
bool sums_nothing(const Node& node) {
  if (const auto* contract = node.as<Contract>()) {
    return std::ranges::any_of(contract->lhs_contract,
                               [&](int axis) { return node.inputs[0].extent(axis) == Extent(0); });
  }
  return node.as<Conv>() && node.inputs[0].extent(1) == Extent(0);  // channels
}

/// Whether it computes what has no elements, or no element but 0.
bool computes_nothing(const Node& node) {
  const bool computes = node.as<Map>() || node.as<Reduce>() || node.as<Contract>() || node.as<Conv>();
  return computes && node.constraints.empty() && (node.shapes[0].element_count() == Extent(0) || sums_nothing(node));
}

}  // namespace

Graph simplify(Graph graph) {
  const Users users(graph);
  return rewrite(graph, [&](const Node& node, const std::vector<Value>& operands) -> std::optional<std::vector<Value>> {
    if (operands.empty() || node.shapes.size() != 1) {
      return std::nullopt;
    }
    if (computes_nothing(node)) {
      return std::vector{full(node.shapes[0], 0)};
    }
    std::optional<Value> result = simpler(node, operands, users.is_sole(node.inputs[0].node()));
    if (result) {
      result = relabelled(*result, node.shapes[0]);
    }
    if (!result) {
      return std::nullopt;
    }
    // What is left may now meet what it could not meet before.
    while (result->node().shapes.size() == 1 && !result->node().inputs.empty()) {
      std::optional<Value> next = simpler(result->node(), result->node().inputs, false);
      next = next ? relabelled(*next, node.shapes[0]) : std::nullopt;
      if (!next || *next == *result) {
        break;
      }
      result = next;
    }
    return std::vector{*result};
  });
}

}  // namespace tenon::passes
