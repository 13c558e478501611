// Taking values apart along an axis, putting them together, repeating and rotating: views and Concat.
#include "base/fail.h"
#include "base/refused.h"
#include "ops/axes.h"
#include "ops/make.h"
#include "tenon/indexing.h"

namespace tenon {
namespace {

/// `x` with an axis of another spelling of its extent; what must hold for that is checked when bound.
Value respell_axis(const Value& x, int axis, const Axis& as) {
  std::vector<Axis> axes = x.shape().axes();
  axes[static_cast<size_t>(axis)] = as;
  return axes == x.shape().axes() ? x : reshape(x, axes);
}

}  // namespace

std::vector<Value> split(const Value& x, int axis, const std::vector<Extent>& sizes) {
  return in_context("split", {x}, [&] {
    const int normal = x.shape().normalize_axis(axis);
    Extent total = 0;
    for (const Extent& size : sizes) {
      total += size;
    }
    const Comparison fits = compare(total, x.extent(normal));
    if (fits == Comparison::different) {
      refuse("the parts add up to {}, axis {} is {}", total.to_string(), normal, x.shape().axis(normal).to_string());
    }
    const Value whole = fits == Comparison::equal ? x : respell_axis(x, normal, Axis(total));
    std::vector<Extent> start(static_cast<size_t>(x.rank()), 0);
    std::vector<Extent> size;
    for (const Axis& each : x.shape().axes()) {
      size.push_back(each.extent());
    }
    std::vector<Value> parts;
    for (const Extent& each : sizes) {
      size[static_cast<size_t>(normal)] = each;
      parts.push_back(slice(whole, start, size));
      start[static_cast<size_t>(normal)] += each;
    }
    return parts;
  });
}

std::vector<Value> split_evenly(const Value& x, int axis, int64_t parts) {
  return in_context("split_evenly", {x}, [&] {
    if (parts < 1) {
      refuse("{} is not a number of parts", parts);
    }
    const Extent& whole = x.extent(x.shape().normalize_axis(axis));
    if (decide({.kind = Constraint::Kind::divisible, .lhs = whole, .rhs = parts}) == Verdict::fails) {
      refuse("axis {} is {}, no multiple of {}", axis, x.shape().axis(axis).to_string(), parts);
    }
    const Extent size = divide_exactly(whole, parts).value_or(floordiv(whole, parts));
    return split(x, axis, std::vector<Extent>(static_cast<size_t>(parts), size));
  });
}

Value stack(const std::vector<Value>& values, int axis) {
  return in_context("stack", values, [&] {
    std::vector<Value> expanded;
    for (const Value& value : values) {
      expanded.push_back(expand_dims(value, {axis}));
    }
    return concat(expanded, axis);
  });
}

std::vector<Value> unstack(const Value& x, int axis) {
  return in_context("unstack", {x}, [&] {
    const int normal = x.shape().normalize_axis(axis);
    const auto count = x.extent(normal).constant();
    if (!count) {
      refuse("axis {} is {}, must be static", normal, x.shape().axis(normal).to_string());
    }
    std::vector<Value> parts;
    for (int64_t i = 0; i < *count; ++i) {
      parts.push_back(squeeze(slice_axis(x, normal, i, Extent(i + 1)), {normal}));
    }
    return parts;
  });
}

Value tile(const Value& x, const std::vector<Extent>& repeats) {
  return in_context("tile", {x}, [&] {
    if (static_cast<int>(repeats.size()) != x.rank()) {
      refuse("lists {} repeats for {}", repeats.size(), x.shape().to_string());
    }
    std::vector<Axis> spread;  // a new axis in front of each that is repeated
    std::vector<Axis> joined;
    Axes places;
    for (int i = 0; i < x.rank(); ++i) {
      const Extent& times = repeats[static_cast<size_t>(i)];
      if (times != Extent(1)) {
        spread.emplace_back(times);
      }
      places.push_back(static_cast<int>(spread.size()));
      spread.push_back(x.shape().axis(i));
      joined.push_back(times == Extent(1) ? x.shape().axis(i) : Axis(times * x.extent(i)));
    }
    return reshape(broadcast(x, spread, places), joined);
  });
}

Value repeat_interleave(const Value& x, const Extent& times, int axis) {
  return in_context("repeat_interleave", {x}, [&] {
    const int normal = x.shape().normalize_axis(axis);
    std::vector<Axis> spread = x.shape().axes();
    spread.insert(spread.begin() + normal + 1, Axis(times));
    std::vector<Axis> joined = x.shape().axes();
    joined[static_cast<size_t>(normal)] = Axis(times * x.extent(normal));
    return reshape(broadcast(x, spread, other_axes(x.rank() + 1, {normal + 1})), joined);
  });
}

Value roll(const Value& x, const Extent& shift, int axis) {
  return in_context("roll", {x}, [&] {
    const int normal = x.shape().normalize_axis(axis);
    const Extent& size = x.extent(normal);
    // Nothing to rotate on an empty axis, but also nothing to divide by.
    const Extent moved = mod(shift, simplify(max(1, size)));
    const Extent front = simplify(min(moved, size));
    const auto parts = split(x, normal, {size - front, front});
    return respell_axis(concat({parts[1], parts[0]}, normal), normal, x.shape().axis(normal));
  });
}

}  // namespace tenon
