#include "passes/rewriting/merge_views.h"

#include <algorithm>

#include "ops/axes.h"
#include "ops/make.h"
#include "tenon/ops.h"

namespace tenon::passes {
namespace {

size_t at(int i) { return static_cast<size_t>(i); }

bool is_one(const Axis& axis) { return axis.extent() == Extent(1); }

bool is_unchecked(const Value& value) { return value.node().constraints.empty(); }

std::vector<int> picked(const std::vector<int>& from, const std::vector<int>& places) {
  std::vector<int> result;
  for (const int place : places) {
    result.push_back(from[at(place)]);
  }
  return result;
}

// A view alone: what it is when it does less than its kind can.

std::optional<Value> reduced_view(const Reshape& view, const Value& x) {
  return view.to == x.shape().axes() ? std::optional(x) : std::nullopt;
}

std::optional<Value> reduced_view(const Transpose& view, const Value& x) {
  std::vector<int> moved;
  std::vector<Axis> to;
  for (const int axis : view.axes) {
    to.push_back(x.shape().axis(axis));
    if (!is_one(to.back())) {
      moved.push_back(axis);
    }
  }
  return std::ranges::is_sorted(moved) ? std::optional(reshape(x, to)) : std::nullopt;
}

std::optional<Value> reduced_view(const Broadcast& view, const Value& x) {
  std::vector<Axis> added = view.to;
  for (int i = x.rank() - 1; i >= 0; --i) {
    const int place = view.axes[at(i)];
    if (x.extent(i) != view.to[at(place)].extent()) {
      return std::nullopt;
    }
    added.erase(added.begin() + place);
  }
  return std::ranges::all_of(added, is_one) ? std::optional(reshape(x, view.to)) : std::nullopt;
}

std::optional<Value> reduced_view(const Slice& view, const Value& x) {
  for (int i = 0; i < x.rank(); ++i) {
    if (view.start[at(i)] != Extent(0) || view.size[at(i)] != x.extent(i) || view.step[at(i)] != 1) {
      return std::nullopt;
    }
  }
  return x;
}

std::optional<Value> reduced_view(const Pad& view, const Value& x) {
  const auto is_zero = [](const Extent& extent) { return extent == Extent(0); };
  return std::ranges::all_of(view.low, is_zero) && std::ranges::all_of(view.high, is_zero) ? std::optional(x)
                                                                                           : std::nullopt;
}

std::optional<Value> reduced_view(const Flip& view, const Value& x) {
  Axes turned;
  std::ranges::copy_if(view.axes, std::back_inserter(turned), [&](int i) { return !is_one(x.shape().axis(i)); });
  return turned == view.axes ? std::nullopt : std::optional(flip(x, turned));
}

// A view of a view: `x` is `inner` of `source`.

template <class Outer, class Inner>
std::optional<Value> joined(const Outer&, const Inner&, const Value&, const Value&) {
  return std::nullopt;
}

std::optional<Value> joined(const Transpose& outer, const Transpose& inner, const Value&, const Value& source) {
  return transpose(source, picked(inner.axes, outer.axes));
}

std::optional<Value> joined(const Reshape& outer, const Reshape&, const Value& x, const Value& source) {
  return is_unchecked(x) ? std::optional(reshape(source, outer.to)) : std::nullopt;
}

std::optional<Value> joined(const Broadcast& outer, const Broadcast& inner, const Value& x, const Value& source) {
  if (!is_unchecked(x) || !is_unchecked(make(outer, {x}))) {
    return std::nullopt;
  }
  return broadcast(source, outer.to, picked(outer.axes, inner.axes));
}

std::optional<Value> joined(const Broadcast& outer, const Reshape& inner, const Value& x, const Value& source) {
  const auto kept = kept_axes(source.shape(), inner.to);
  if (!kept || !is_unchecked(x) || std::ranges::find(*kept, -1) != kept->end()) {
    return std::nullopt;
  }
  return broadcast(source, outer.to, picked(outer.axes, *kept));
}

std::optional<Value> joined(const Reshape& outer, const Broadcast& inner, const Value& x, const Value& source) {
  if (!is_unchecked(x) || !is_unchecked(make(outer, {x}))) {
    return std::nullopt;
  }
  if (std::ranges::all_of(source.shape().axes(), is_one)) {
    return broadcast(reshape(source, {}), outer.to, {});
  }
  const auto kept = kept_axes(x.shape(), outer.to);
  if (!kept) {
    return std::nullopt;
  }
  const std::vector<int> places = picked(*kept, inner.axes);
  return std::ranges::find(places, -1) == places.end() ? std::optional(broadcast(source, outer.to, places))
                                                       : std::nullopt;
}

std::optional<Value> joined(const Transpose& outer, const Broadcast& inner, const Value& x, const Value& source) {
  std::vector<int> places;
  for (const int axis : inner.axes) {
    places.push_back(static_cast<int>(std::ranges::find(outer.axes, axis) - outer.axes.begin()));
  }
  if (!is_unchecked(x) || !std::ranges::is_sorted(places)) {
    return std::nullopt;
  }
  return broadcast(source, make(outer, {x}).shape().axes(), places);
}

std::optional<Value> joined(const Slice& outer, const Slice& inner, const Value& x, const Value& source) {
  if (!is_unchecked(x) || !is_unchecked(make(outer, {x}))) {
    return std::nullopt;
  }
  Slice both = outer;
  for (size_t i = 0; i < both.start.size(); ++i) {
    // Where nothing is left, the inner steps lead beyond the end; any start is as good.
    const Extent start = inner.start[i] + outer.start[i] * inner.step[i];
    const Extent& size = source.extent(static_cast<int>(i));
    both.start[i] = both.size[i] == Extent(0)                                ? Extent(0)
                    : inner.step[i] == 1 || proves_at_least(both.size[i], 1) ? start
                                                                             : simplify(min(start, size));
    both.step[i] = inner.step[i] * outer.step[i];
  }
  return make(both, {source});
}

/// A part of a repetition is a shorter one.
std::optional<Value> joined(const Slice& outer, const Broadcast& inner, const Value& x, const Value& source) {
  const Value part = make(outer, {x});
  if (!is_unchecked(x) || !is_unchecked(part)) {
    return std::nullopt;
  }
  for (int i = 0; i < source.rank(); ++i) {
    const int axis = inner.axes[at(i)];
    if (!is_one(source.shape().axis(i)) && part.shape().axis(axis) != x.shape().axis(axis)) {
      return std::nullopt;
    }
  }
  return broadcast(source, part.shape().axes(), inner.axes);
}

std::optional<Value> joined(const Flip& outer, const Flip& inner, const Value&, const Value& source) {
  Axes odd;
  for (const int axis : other_axes(source.rank(), {})) {
    if (std::ranges::count(outer.axes, axis) != std::ranges::count(inner.axes, axis)) {
      odd.push_back(axis);
    }
  }
  return flip(source, odd);
}

}  // namespace

std::optional<std::vector<int>> kept_axes(const Shape& from, const std::vector<Axis>& to) {
  std::vector<int> places;
  size_t j = 0;
  for (const Axis& axis : from.axes()) {
    while (j < to.size() && to[j].extent() != axis.extent() && is_one(to[j])) {
      ++j;
    }
    if (j < to.size() && to[j].extent() == axis.extent()) {
      places.push_back(static_cast<int>(j++));
    } else if (is_one(axis)) {
      places.push_back(-1);
    } else {
      return std::nullopt;
    }
  }
  const bool rest_is_ones = std::all_of(to.begin() + static_cast<std::ptrdiff_t>(j), to.end(), is_one);
  return rest_is_ones ? std::optional(places) : std::nullopt;
}

std::optional<Value> merged_view(const View& view, const Value& x) {
  if (const auto reduced = std::visit([&](const auto& kind) { return reduced_view(kind, x); }, view)) {
    return reduced;
  }
  const std::optional<View> inner = as_view(x.node().op);
  if (!inner) {
    return std::nullopt;
  }
  const Value& source = x.node().inputs[0];
  return std::visit([&](const auto& a, const auto& b) { return joined(a, b, x, source); }, view, *inner);
}

}  // namespace tenon::passes
