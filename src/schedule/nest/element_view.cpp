// Views as index maps: an element of a view is an element of its operand at another point.
#include <fmt/format.h>

#include <algorithm>

#include "base/fail.h"
#include "schedule/nest/element.h"

namespace tenon::schedule {
namespace {

bool is_one(const Extent& extent) { return extent == Extent(1); }

/// Axes of both sides of a reshape that hold the same elements: [begin, end) of each.
struct AxisRun {
  size_t to_begin, to_end;
  size_t from_begin, from_end;
};

/// Cut both lists of axes into the shortest runs with equal products; axes of extent 1 go wherever they fit.
std::vector<AxisRun> equal_runs(const std::vector<Axis>& to, const std::vector<Axis>& from) {
  std::vector<AxisRun> runs;
  size_t i = 0;
  size_t j = 0;
  while (i < to.size() && j < from.size()) {
    AxisRun run{i, i + 1, j, j + 1};
    Extent left = to[i].extent();
    Extent right = from[j].extent();
    while (left != right) {
      const bool extend_right = run.from_end < from.size() && (divide_exactly(left, right) || run.to_end == to.size());
      if (extend_right) {
        right *= from[run.from_end++].extent();
      } else if (run.to_end < to.size()) {
        left *= to[run.to_end++].extent();
      } else {
        break;  // equal only at a binding; all that is left is one run
      }
    }
    runs.push_back(run);
    i = run.to_end;
    j = run.from_end;
  }
  if (runs.empty()) {
    return {{0, to.size(), 0, from.size()}};
  }
  runs.back().to_end = to.size();
  runs.back().from_end = from.size();
  return runs;
}

}  // namespace

/// The innermost loops of digits[0, end) that make up `size` iterations; `end` moves to where they begin.
std::vector<int> ElementEmitter::split_digits(const Value& view, const std::vector<int>& digits, const Extent& size,
                                              size_t& end) {
  std::vector<int> taken;
  Extent have = 1;
  while (have != size) {
    if (end == 0) {
      throw Refusal{"a reshape does not keep the loops apart", view.node().inputs[0]};
    }
    const int digit = digits[end - 1];
    const Extent& extent = kernel_.axes[static_cast<size_t>(digit)].extent;
    if (divide_exactly(size, have * extent)) {
      taken.insert(taken.begin(), digit);
      have = have * extent;
      --end;
      continue;
    }
    const auto inner = divide_exactly(size, have);
    if (!inner || !divide_exactly(extent, *inner)) {
      throw Refusal{fmt::format("the reshape {} to {} has no common refinement",
                                view.node().inputs[0].shape().to_string(), view.shape().to_string()),
                    view.node().inputs[0]};
    }
    axes_.split(digit, *inner);
  }
  return taken;
}

/// The loops that count a position through `extent` as digits count a number, outermost first; none where they do not.
std::optional<std::vector<int>> ElementEmitter::digits_of(const Position& position, const Extent& extent) const {
  if (!position.dynamic.empty()) {
    return std::nullopt;
  }
  if (const Cover* cover = axes_.find(position.affine); cover && cover->extent == extent) {
    return cover->axes;
  }
  // Loops that an earlier reshape joined.
  std::vector<int> digits;
  Extent count = 1;
  while (digits.size() < position.affine.terms.size()) {
    const auto next = std::ranges::find(position.affine.terms, count, &loops::Term::scale);
    if (next == position.affine.terms.end()) {
      return std::nullopt;
    }
    digits.insert(digits.begin(), next->axis);
    count *= kernel_.axes[static_cast<size_t>(next->axis)].extent;
  }
  return position.affine.base == Extent(0) && count == extent ? std::optional(digits) : std::nullopt;
}

/// The point of its operand at which a reshape reads.
Point ElementEmitter::before_reshape(const Value& value, const Point& point) {
  const Value& x = value.node().inputs[0];
  const std::vector<Axis>& to = value.shape().axes();
  const std::vector<Axis>& from = x.shape().axes();
  Point at(from.size());
  for (const AxisRun& run : equal_runs(to, from)) {
    // The run of the view as one position.
    const std::vector<Axis> to_axes(to.begin() + static_cast<std::ptrdiff_t>(run.to_begin),
                                    to.begin() + static_cast<std::ptrdiff_t>(run.to_end));
    const Point to_point(point.begin() + static_cast<std::ptrdiff_t>(run.to_begin),
                         point.begin() + static_cast<std::ptrdiff_t>(run.to_end));
    std::vector<size_t> targets;
    for (size_t j = run.from_begin; j < run.from_end; ++j) {
      if (!is_one(from[j].extent())) {
        targets.push_back(j);
      }
    }
    if (targets.empty()) {
      continue;
    }
    if (targets.size() == 1) {
      at[targets[0]] = linear(to_axes, to_point);
      continue;
    }
    // One position becomes several. What no loop moves is divided when sizes are bound.
    if (const Position whole = linear(to_axes, to_point); whole.affine.terms.empty() && whole.dynamic.empty()) {
      Extent rest = whole.affine.base;
      for (size_t t = targets.size(); t-- > 1;) {
        const Extent size = max(1, from[targets[t]].extent());  // of nothing, nothing is loaded
        at[targets[t]].affine.base = mod(rest, size);
        rest = floordiv(rest, size);
      }
      at[targets[0]].affine.base = rest;
      continue;
    }
    // Of loops only whole ones can be told apart without a division.
    std::vector<int> digits;
    for (size_t k = 0; k < to_axes.size(); ++k) {
      if (is_one(to_axes[k].extent())) {
        continue;
      }
      const auto loops = digits_of(to_point[k], to_axes[k].extent());
      if (!loops) {
        throw Refusal{fmt::format("the reshape {} to {} is read at shifted positions", x.shape().to_string(),
                                  value.shape().to_string()),
                      value};
      }
      digits.insert(digits.end(), loops->begin(), loops->end());
    }
    size_t end = digits.size();
    for (size_t t = targets.size(); t-- > 1;) {
      loops::Affine position;
      for (const int digit : split_digits(value, digits, from[targets[t]].extent(), end)) {
        position = add(scale(position, kernel_.axes[static_cast<size_t>(digit)].extent), affine_axis(digit));
      }
      at[targets[t]] = {.affine = position, .dynamic = {}};
    }
    loops::Affine rest;
    for (size_t k = 0; k < end; ++k) {
      rest = add(scale(rest, kernel_.axes[static_cast<size_t>(digits[k])].extent), affine_axis(digits[k]));
    }
    at[targets[0]] = {.affine = rest, .dynamic = {}};
  }
  return at;
}

int ElementEmitter::element(const Reshape&, const Value& value, const Point& point, const Mask& mask) {
  const Value& x = value.node().inputs[0];
  std::optional<Point> at;
  try {
    at = before_reshape(value, point);
  } catch (const Refusal&) {
    // What lies row by row has its elements in one line, whatever its axes.
    const Value* base = &x;
    while (!is_loaded_(*base) && base->node().as<Reshape>()) {
      base = &base->node().inputs[0];
    }
    if (!is_loaded_(*base) || storage_.of(*base)) {
      throw;
    }
    return load(*base, linear(value.shape().axes(), point), mask);
  }
  return emit(x, *at, mask);
}

int ElementEmitter::element(const Transpose& op, const Value& value, const Point& point, const Mask& mask) {
  Point at(point.size());
  for (size_t i = 0; i < point.size(); ++i) {
    at[static_cast<size_t>(op.axes[i])] = point[i];
  }
  return emit(value.node().inputs[0], at, mask);
}

int ElementEmitter::element(const Broadcast& op, const Value& value, const Point& point, const Mask& mask) {
  const Value& x = value.node().inputs[0];
  Point at(static_cast<size_t>(x.rank()));
  for (size_t i = 0; i < at.size(); ++i) {
    const auto axis = static_cast<size_t>(op.axes[i]);
    const Extent& size = x.extent(static_cast<int>(i));
    if (size == value.extent(static_cast<int>(axis))) {
      at[i] = point[axis];
    } else if (!is_one(size)) {
      at[i] = scaled(point[axis], min(size - 1, 1));  // the axis is 1 or as long as the result's, known when bound
    }
  }
  return emit(x, at, mask);
}

int ElementEmitter::element(const Slice& op, const Value& value, const Point& point, const Mask& mask) {
  Point at = point;
  for (size_t i = 0; i < at.size(); ++i) {
    at[i] = moved(scaled(at[i], op.step[i]), op.start[i]);
  }
  return emit(value.node().inputs[0], at, mask);
}

int ElementEmitter::element(const Flip& op, const Value& value, const Point& point, const Mask& mask) {
  Point at = point;
  for (const int axis : op.axes) {
    auto& here = at[static_cast<size_t>(axis)];
    here = moved(scaled(here, -1), value.extent(axis) - 1);
  }
  return emit(value.node().inputs[0], at, mask);
}

/// A position of x that data decides, for the modes that repeat elements.
Position ElementEmitter::padded(const Pad& op, const Value& x, size_t axis, const Position& at) {
  const Extent& size = x.extent(static_cast<int>(axis));
  const auto number = [&](const Extent& extent) { return values_.position(affine_constant(extent)); };
  const auto apply = [&](Prim prim, int a, int b) { return values_.compute(prim, Dtype::i64, {a, b}); };
  const auto less = [&](int a, int b) { return values_.compute(Prim::lt, Dtype::boolean, {a, b}); };
  const int i = position_value(moved(at, -op.low[axis]));
  const int last = number(size - 1);
  int source = 0;
  switch (op.mode) {
    case PadMode::edge: source = apply(Prim::min, apply(Prim::max, i, number(0)), last); break;
    case PadMode::reflect: {
      const int folded = values_.compute(Prim::abs, Dtype::i64, {i});
      source = values_.select(less(last, folded), apply(Prim::sub, number(2 * (size - 1)), folded), folded);
      break;
    }
    case PadMode::wrap: {
      const int up = values_.select(less(i, number(0)), apply(Prim::add, i, number(size)), i);
      source = values_.select(less(last, up), apply(Prim::sub, up, number(size)), up);
      break;
    }
    case PadMode::constant: TENON_CHECK(false);
  }
  const int site = static_cast<int>(kernel_.sites.size());
  kernel_.sites.push_back(fmt::format("pad: position {{position}} is out of range for axis {} of size {{size}}", axis));
  return {.affine = {}, .dynamic = {{.value = source, .scale = 1, .size = size, .site = site}}};
}

int ElementEmitter::element(const Pad& op, const Value& value, const Point& point, const Mask& mask) {
  const Value& x = value.node().inputs[0];
  Point at = point;
  Mask bounds;
  for (size_t i = 0; i < at.size(); ++i) {
    if (op.low[i] == Extent(0) && op.high[i] == Extent(0)) {
      continue;
    }
    if (op.mode != PadMode::constant) {
      at[i] = padded(op, x, i, at[i]);
      continue;
    }
    if (!at[i].dynamic.empty()) {
      throw Refusal{"pad is read at computed positions", value};
    }
    at[i] = moved(at[i], -op.low[i]);
    bounds.push_back({.index = at[i].affine, .size = x.extent(static_cast<int>(i))});
  }
  Mask inside = mask;
  inside.insert(inside.end(), bounds.begin(), bounds.end());
  const int element = emit(x, at, inside);
  const int condition = values_.condition(bounds);
  return condition < 0
             ? element
             : values_.select(condition, element, values_.constant(compute_dtype(value.dtype()), op.fill.at(0)));
}

}  // namespace tenon::schedule
