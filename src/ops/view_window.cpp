// Slice and Pad: views of part of an axis, or of more than it.
#include <algorithm>
#include <limits>

#include "base/fail.h"
#include "base/refused.h"
#include "ops/axes.h"
#include "ops/make.h"
#include "tenon/ops.h"

namespace tenon {
namespace {

constexpr auto kAtLeast = Constraint::Kind::at_least;

void require_rank(size_t listed, const Shape& x, std::string_view what) {
  if (static_cast<int>(listed) != x.rank()) {
    refuse("lists {} {} for {}", listed, what, x.to_string());
  }
}

/// A position as Python's slices mean it: negative constants count from the end, anything is clamped into [low, high].
Extent clamp_position(const Extent& position, const Extent& size, const Extent& low, const Extent& high) {
  const auto constant = position.constant();
  const Extent from_start = constant && *constant < 0 ? size + position : position;
  return simplify(max(low, min(from_start, high)));
}

}  // namespace

Inferred infer_view(const Slice& view, const Shape& x) {
  require_rank(view.start.size(), x, "starts");
  require_rank(view.size.size(), x, "sizes");
  require_rank(view.step.size(), x, "steps");
  Inferred result;
  std::vector<Axis> axes;
  for (int i = 0; i < x.rank(); ++i) {
    const auto k = static_cast<size_t>(i);
    const Extent& start = view.start[k];
    const Extent& size = view.size[k];
    const int64_t step = view.step[k];
    if (step < 1) {
      refuse("step {} of axis {} is not positive", step, i);
    }
    // The last element read is start + (size - 1) * step; no element, no bound.
    const Extent span = size == Extent(0) ? Extent(0) : max(0, (size - 1) * step + 1);
    if (decide({.kind = kAtLeast, .lhs = x.extent(i), .rhs = start + span}) == Verdict::fails) {
      refuse("reads up to {} along axis {}, which is {}", (start + span).to_string(), i, x.axis(i).to_string());
    }
    result.constraints.push_back({.kind = kAtLeast, .lhs = start, .rhs = 0});
    result.constraints.push_back({.kind = kAtLeast, .lhs = size, .rhs = 0});
    result.constraints.push_back({.kind = kAtLeast, .lhs = x.extent(i), .rhs = start + span});
    axes.push_back(size == x.extent(i) ? x.axis(i) : Axis(size));
  }
  result.shapes = {x.with_axes(std::move(axes))};
  return result;
}

Inferred infer(const Slice& op, Operands in) { return infer_view(op, in[0].shape()); }

Value slice(const Value& x, const std::vector<Extent>& start, const std::vector<Extent>& size,
            const std::vector<int64_t>& step) {
  Slice upward{start, size, step.empty() ? std::vector<int64_t>(start.size(), 1) : step};
  // Walking down is the same elements upward, then flipped.
  Axes down;
  const bool fits = std::ssize(start) == x.rank() && start.size() == size.size() && size.size() == upward.step.size();
  for (size_t k = 0; fits && k < start.size(); ++k) {
    const int64_t by = upward.step[k];
    if (by >= 0 || by == std::numeric_limits<int64_t>::min()) {
      continue;
    }
    const auto axis = static_cast<int>(k);
    const Extent lowest = start[k] + (size[k] - 1) * by;
    const Extent inside = proves_at_least(size[k], 1) ? lowest : simplify(min(lowest, x.extent(axis)));
    upward.start[k] = size[k] == Extent(0) ? Extent(0) : inside;
    upward.step[k] = -by;
    down.push_back(axis);
  }
  const Value part = make(std::move(upward), {x});
  return down.empty() ? part : flip(part, down);
}

Value slice_axis(const Value& x, int axis, const Extent& begin, std::optional<Extent> end, int64_t step) {
  return in_context("slice_axis", {x}, [&]() -> Value {
    const int normal = x.shape().normalize_axis(axis);
    const auto k = static_cast<size_t>(normal);
    const Extent& n = x.extent(normal);
    if (step == 0 || step == std::numeric_limits<int64_t>::min()) {
      refuse("step {} is not a step", step);
    }
    Extent first;  // the lowest element read
    Extent count;
    if (step > 0) {
      // Unclamped at the far end, so that x[1:] has max(n-1, 0) elements, and x[1:][1:] max(n-2, 0).
      const auto constant = begin.constant();
      const Extent from = simplify(max(0, constant && *constant < 0 ? n + begin : begin));
      const Extent until = end ? clamp_position(*end, n, 0, n) : n;
      const bool tail = constant && *constant < 0 && !end;  // the last elements: as many as asked for, or all
      const Extent length = tail ? min(n, -begin) : simplify(max(0, until - from));
      first = simplify(min(from, n));
      count = simplify(ceildiv(length, step));
    } else {
      // Walking down from `begin` to just above `end`: the same elements upward, then flipped.
      const Extent top = clamp_position(begin, n, -1, n - 1);
      const Extent stop = end ? clamp_position(*end, n, -1, n - 1) : Extent(-1);
      count = simplify(max(0, ceildiv(top - stop, -step)));
      first = simplify(min(max(0, top - (count - 1) * -step), n));  // with nothing to read, anywhere inside
    }
    std::vector<Extent> start(static_cast<size_t>(x.rank()), 0);
    std::vector<Extent> size;
    for (const Axis& each : x.shape().axes()) {
      size.push_back(each.extent());
    }
    std::vector<int64_t> steps(start.size(), 1);
    start[k] = count == Extent(0) ? Extent(0) : first;
    size[k] = count;
    steps[k] = step > 0 ? step : -step;
    const bool whole = start[k] == Extent(0) && count == n && steps[k] == 1;
    const Value part = whole ? x : slice(x, start, size, steps);
    return step > 0 ? part : flip(part, {normal});
  });
}

Inferred infer_view(const Pad& view, const Shape& x) {
  require_rank(view.low.size(), x, "low pads");
  require_rank(view.high.size(), x, "high pads");
  if (view.fill.rank() != 0 || view.fill.dtype() != x.dtype()) {
    refuse("the fill is {}, must be a scalar of {}", view.fill.to_string(), name(x.dtype()));
  }
  Inferred result;
  std::vector<Axis> axes;
  for (int i = 0; i < x.rank(); ++i) {
    const auto k = static_cast<size_t>(i);
    const Extent& n = x.extent(i);
    for (const Extent& amount : {view.low[k], view.high[k]}) {
      result.constraints.push_back({.kind = kAtLeast, .lhs = amount, .rhs = 0});
      // Each mode but constant repeats elements that must exist: the edge, the neighbours of the edge, one period.
      if (amount != Extent(0) && view.mode == PadMode::edge) {
        result.constraints.push_back({.kind = kAtLeast, .lhs = n, .rhs = 1});
      } else if (amount != Extent(0) && view.mode == PadMode::reflect) {
        result.constraints.push_back({.kind = kAtLeast, .lhs = n, .rhs = amount + 1});
      } else if (amount != Extent(0) && view.mode == PadMode::wrap) {
        result.constraints.push_back({.kind = kAtLeast, .lhs = n, .rhs = amount});
      }
    }
    const Extent padded = view.low[k] + n + view.high[k];
    axes.push_back(padded == n ? x.axis(i) : Axis(padded));
  }
  result.shapes = {x.with_axes(std::move(axes))};
  return result;
}

Inferred infer(const Pad& op, Operands in) { return infer_view(op, in[0].shape()); }

Value pad(const Value& x, const std::vector<Extent>& low, const std::vector<Extent>& high, std::string_view mode,
          double fill) {
  return in_context("pad", {x}, [&]() -> Value {
    require_rank(low.size(), x.shape(), "low pads");
    require_rank(high.size(), x.shape(), "high pads");
    constexpr auto modes = spellings(PadMode{});
    const auto found = std::ranges::find(modes, mode);
    if (found == modes.end()) {
      refuse("mode `{}` is none of constant, edge, reflect, wrap", mode);
    }
    // A negative constant crops: that part is a slice.
    const auto is_negative = [](const Extent& e) { return e.is_constant() && *e.constant() < 0; };
    std::vector<Extent> grow_low = low;
    std::vector<Extent> grow_high = high;
    Value cropped = x;
    for (int i = 0; i < x.rank(); ++i) {
      const auto k = static_cast<size_t>(i);
      const Extent from = is_negative(low[k]) ? -low[k] : Extent(0);
      const Extent until = is_negative(high[k]) ? x.extent(i) + high[k] : x.extent(i);
      grow_low[k] = is_negative(low[k]) ? Extent(0) : low[k];
      grow_high[k] = is_negative(high[k]) ? Extent(0) : high[k];
      if (is_negative(low[k]) || is_negative(high[k])) {
        std::vector<Extent> start(low.size(), 0);
        std::vector<Extent> size = extents_of(cropped.shape().axes());
        start[k] = from;
        size[k] = until - from;
        cropped = slice(cropped, start, size);
      }
    }
    const auto is_zero = [](const Extent& e) { return e == Extent(0); };
    if (std::ranges::all_of(grow_low, is_zero) && std::ranges::all_of(grow_high, is_zero)) {
      return cropped;
    }
    const auto chosen = static_cast<PadMode>(found - modes.begin());
    return make(Pad{grow_low, grow_high, chosen, Array::scalar(x.dtype(), fill)}, {cropped});
  });
}

Inferred infer_view(const View& view, const Shape& x) {
  return std::visit([&](const auto& kind) { return infer_view(kind, x); }, view);
}

}  // namespace tenon
