#include "passes/lower_updates.h"

#include <algorithm>
#include <span>

#include "ops/make.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/spread_axis.h"
#include "passes/rewriting/uniform.h"
#include "tenon/elementwise.h"
#include "tenon/ops.h"

namespace tenon::passes {
namespace {

bool has_step(const Slice& slice) {
  return std::ranges::any_of(slice.step, [](int64_t step) { return step != 1; });
}

bool is_loop(const View& view) {
  const auto* slice = std::get_if<Slice>(&view);
  return std::holds_alternative<Transpose>(view) || (slice != nullptr && !has_step(*slice));
}

/// Elements of the base that the slice sees.
Value is_seen(const Value& base, const Slice& slice) {
  Value result;
  for (int axis = 0; axis < base.rank(); ++axis) {
    const auto i = static_cast<size_t>(axis);
    if (slice.start[i] == Extent(0) && slice.step[i] == 1 && slice.size[i] == base.extent(axis)) {
      continue;  // all of it
    }
    const Value at = iota(base.shape().with_dtype(Dtype::i64), axis, -slice.start[i]);
    const Value end = iota(Shape(Dtype::i64, {}), 0, slice.size[i] * slice.step[i]);
    Value seen = logical_and(ge(at, 0), lt(at, end));
    if (slice.step[i] != 1) {
      seen = logical_and(seen, eq(mod(at, slice.step[i]), 0));
    }
    result = result ? logical_and(result, seen) : seen;
  }
  return result;
}

bool has_extents(const Value& value, const std::vector<Extent>& extents) {
  return std::ranges::equal(value.shape().axes(), extents, {}, [](const Axis& axis) { return axis.extent(); });
}

/// What the slice sees, where it lies in the base, among elements that are `fill`.
Value placed(const Value& base, const Slice& slice, Value inner, double fill) {
  std::vector<Extent> low;
  std::vector<Extent> high;
  std::vector<Extent> size;
  for (int axis = 0; axis < base.rank(); ++axis) {
    const auto i = static_cast<size_t>(axis);
    if (slice.step[i] != 1) {
      inner = spread_axis(inner, axis, slice.step[i], fill);
    }
    low.push_back(slice.start[i]);
    high.push_back(max(base.extent(axis) - slice.start[i] - slice.size[i] * slice.step[i], 0));
    size.push_back(base.extent(axis));
  }
  Value whole = pad(inner, low, high, "constant", fill);
  if (!has_extents(whole, size)) {
    whole = tenon::slice(whole, std::vector<Extent>(size.size(), 0), size);  // room behind the last element
  }
  return reshape(whole, base.shape().axes());
}

Value written(const Value& base, std::span<const View> path, const Value& value) {
  if (path.empty()) {
    return reshape(value, base.shape().axes());
  }
  const Value inner = written(make(as_op(path[0]), {base}), path.subspan(1), value);
  if (const auto* slice = std::get_if<Slice>(&path[0])) {
    if (!has_step(*slice)) {
      return make(Update{{*slice}}, {base, inner});
    }
    const std::optional<double> fill = uniform_number(base);
    const Value spread = placed(base, *slice, inner, fill.value_or(0));
    return fill ? spread : select(is_seen(base, *slice), spread, base);
  }
  if (const auto* flipped = std::get_if<Flip>(&path[0])) {
    return reshape(flip(inner, flipped->axes), base.shape().axes());
  }
  if (const auto* transposed = std::get_if<Transpose>(&path[0])) {
    std::vector<int> back(transposed->axes.size());
    for (size_t i = 0; i < back.size(); ++i) {
      back[static_cast<size_t>(transposed->axes[i])] = static_cast<int>(i);
    }
    return transpose(inner, back);
  }
  return reshape(inner, base.shape().axes());
}

}  // namespace

Graph lower_updates(Graph graph) {
  return rewrite(graph, [](const Node& node, const std::vector<Value>& operands) -> std::optional<std::vector<Value>> {
    const auto* update = node.as<Update>();
    if (update == nullptr || std::ranges::all_of(update->path, is_loop)) {
      return {};
    }
    return std::vector<Value>{written(operands[0], update->path, operands[1])};
  });
}

}  // namespace tenon::passes
