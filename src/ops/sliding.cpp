#include "ops/sliding.h"

#include "base/fail.h"
#include "base/refused.h"
#include "ops/axes.h"
#include "tenon/ops.h"

namespace tenon {

Extent dilated(const Extent& n, int64_t dilation) { return dilation == 1 ? n : (n - 1) * dilation + 1; }

Axis slide(const Value& x, int axis, const Sliding& window, std::vector<Constraint>& constraints) {
  const Axis& from = x.shape().axis(axis);
  const Extent size = dilated(from.extent(), window.x_dilation);
  const Extent padded = window.low + size + window.high;
  // ceildiv(0, stride) positions is what the formula gives for span 1 and no elements; longer windows need theirs.
  const Extent needed = window.span == Extent(1) ? Extent(0) : window.span;
  // The size stands alone on one side, so that a message at a binding speaks of the axis.
  const Constraint fits{.kind = Constraint::Kind::at_least, .lhs = size, .rhs = needed - window.low - window.high};
  if (decide(fits) == Verdict::fails) {
    const std::string with_padding =
        padded == from.extent() ? "" : fmt::format(" ({} with padding)", padded.to_string());
    refuse("axis {} of {} is {}{}, smaller than the window, which spans {}", axis, describe(x), from.to_string(),
           with_padding, window.span.to_string());
  }
  constraints.push_back(fits);
  const Extent positions = floordiv(padded - window.span, window.stride) + 1;
  return positions == from.extent() ? from : Axis(positions);
}

void require_steps(const std::vector<int64_t>& list, size_t count, std::string_view what) {
  if (list.size() != count) {
    refuse("lists {} numbers as {}, must be {}", list.size(), what, count);
  }
  for (const int64_t step : list) {
    if (step < 1) {
      refuse("{} {} is not positive", what, step);
    }
  }
}

void require_padding(const std::vector<Extent>& list, size_t count, std::string_view what) {
  if (list.size() != count) {
    refuse("lists {} numbers as {}, must be {}", list.size(), what, count);
  }
}

Extent share(const Extent& extent, int64_t groups) {
  return divide_exactly(extent, groups).value_or(floordiv(extent, groups));
}

Value adjoint_weights(const Value& w, int64_t groups) {
  Axes offsets;
  for (int i = 2; i < w.rank(); ++i) {
    offsets.push_back(i);
  }
  const Value reversed = flip(w, offsets);
  if (groups == 1) {
    Axes order{1, 0};
    order.insert(order.end(), offsets.begin(), offsets.end());
    return transpose(reversed, order);
  }
  const std::vector<Axis> axes = w.shape().axes();
  const Axis part = share(w.extent(0), groups);
  std::vector<Axis> split{groups, part, axes[1]};
  std::vector<Axis> joined{w.extent(1) * groups, part};
  Axes order{0, 2, 1};
  for (const int i : offsets) {
    split.push_back(axes[static_cast<size_t>(i)]);
    joined.push_back(axes[static_cast<size_t>(i)]);
    order.push_back(i + 1);
  }
  return reshape(transpose(reshape(reversed, split), order), joined);
}

void apply_padding_rule(std::string_view rule, const Extent& n, Sliding& window) {
  if (rule == "explicit") {
    return;
  }
  if (rule != "valid" && rule != "same_upper" && rule != "same_lower") {
    refuse("padding `{}` is none of explicit, valid, same_upper, same_lower", rule);
  }
  if (window.low != Extent(0) || window.high != Extent(0)) {
    refuse("padding is both given and `{}`", rule);
  }
  if (rule == "valid") {
    return;
  }
  // What makes ceildiv(n, stride) windows fit exactly. Where it is negative (stride beyond the span) nothing is padded
  // and the rest, which no window reads, is cropped at the end: that keeps the number of positions plain.
  const Extent total = (ceildiv(n, window.stride) - 1) * window.stride + window.span - n;
  const Extent padding = proves_at_least(window.span, window.stride) ? total : simplify(max(0, total));
  window.low = rule == "same_upper" ? floordiv(padding, 2) : ceildiv(padding, 2);
  window.high = total - window.low;
}

}  // namespace tenon
