// Sort: values ordered along an axis.
#include "base/refused.h"
#include "ops/axes.h"
#include "ops/make.h"
#include "tenon/indexing.h"

namespace tenon {

Inferred infer(const Sort& op, Operands in) {
  const Shape& key = in[0].shape();
  require_axes({op.axis}, key, "axis");
  Inferred result;
  std::vector<Axis> axes = key.axes();
  for (const Value& value : in.subspan(1)) {
    if (value.rank() != key.rank()) {
      refuse("operands have ranks {} and {}", key.rank(), value.rank());
    }
    for (int i = 0; i < key.rank(); ++i) {
      match_axes(in[0], i, value, i, result.constraints);
    }
  }
  for (const Value& value : in) {
    result.shapes.emplace_back(value.dtype(), axes);
  }
  return result;
}

std::vector<Value> sort_together(const std::vector<Value>& values, int axis, bool descending) {
  return in_context("sort", values, [&] {
    if (values.empty()) {
      refuse("needs at least one operand");
    }
    return make_all(Sort{values[0].shape().normalize_axis(axis), descending}, values);
  });
}

Value sort(const Value& x, int axis, bool descending) { return sort_together({x}, axis, descending).front(); }

Value argsort(const Value& x, int axis, bool descending) {
  return in_context("argsort", {x}, [&] {
    return sort_together({x, iota(x.shape().with_dtype(Dtype::i64), axis)}, axis, descending)[1];
  });
}

TopK top_k(const Value& x, const Extent& k, int axis, bool largest) {
  return in_context("top_k", {x}, [&] {
    const int normal = x.shape().normalize_axis(axis);
    const auto sorted = sort_together({x, iota(x.shape().with_dtype(Dtype::i64), normal)}, normal, largest);
    std::vector<Extent> size;
    for (const Axis& each : x.shape().axes()) {
      size.push_back(each.extent());
    }
    size[static_cast<size_t>(normal)] = k;
    const std::vector<Extent> start(size.size(), 0);
    return TopK{slice(sorted[0], start, size), slice(sorted[1], start, size)};
  });
}

}  // namespace tenon
