// Update: state in a pure graph. The base with the part that a path of views sees replaced.
#include <algorithm>
#include <iterator>

#include "base/refused.h"
#include "ops/axes.h"
#include "ops/make.h"
#include "shape/unify.h"
#include "tenon/ops.h"

namespace tenon {

Inferred infer(const Update& op, Operands in) {
  const Value& base = in[0];
  const Value& value = in[1];
  Inferred result{{base.shape()}};
  Shape seen = base.shape();
  for (const View& view : op.path) {
    if (std::holds_alternative<Pad>(view) || std::holds_alternative<Broadcast>(view)) {
      refuse("cannot write through {}: an element of the view is not one element of the base",
             kind_info(as_op(view)).name);
    }
    Inferred step = infer_view(view, seen);
    seen = step.shapes[0];
    std::ranges::move(step.constraints, std::back_inserter(result.constraints));
  }
  if (seen.dtype() != value.dtype() || seen.rank() != value.rank()) {
    refuse("writes {} into {}", value.shape().to_string(), seen.to_string());
  }
  for (int i = 0; i < seen.rank(); ++i) {
    const NameRule rule = build_context().unify_names ? NameRule::unify : NameRule::strict;
    Unified unified = unify(seen.axis(i), value.shape().axis(i), rule);
    std::ranges::move(unified.constraints, std::back_inserter(result.constraints));
  }
  return result;
}

Value update_slice(const Value& base, const Value& value, const std::vector<Extent>& start) {
  return in_context("update_slice", {base, value}, [&] {
    return make(Update{{Slice{start, extents_of(value.shape().axes()), std::vector<int64_t>(start.size(), 1)}}},
                {base, value});
  });
}

}  // namespace tenon
