#include <algorithm>

#include "ops/axes.h"
#include "ops/gradient/gradient.h"
#include "ops/make.h"
#include "ops/sliding.h"
#include "tenon/ops.h"

namespace tenon {
namespace {

Value zeros(Dtype dtype, const std::vector<Extent>& extents) {
  return full(Shape(dtype, std::vector<Axis>(extents.begin(), extents.end())), 0);
}

/// Each element of the gradient goes to all elements under its window: the gradient with zeros between its elements,
/// summed by the window the other way round.
Value gradient_of_sum(const Window& op, const Value& x, const Value& g) {
  Window back{.op = ReduceOp::sum,
              .size = op.size,
              .stride = std::vector<int64_t>(op.size.size(), 1),
              .dilation = op.dilation,
              .low = {},
              .high = {}};
  const std::vector<Extent> places = extents_of(g.shape().axes());
  std::vector<Extent> spread = places;
  bool is_spread = false;
  for (size_t i = 0; i < spread.size(); ++i) {
    spread[i] *= op.stride[i];
    is_spread = is_spread || op.stride[i] != 1;
    back.low.push_back(dilated(op.size[i], op.dilation[i]) - 1 - op.low[i]);
    back.high.push_back(x.extent(static_cast<int>(i)) + op.low[i] - spread[i]);
  }
  if (!is_spread) {
    return make(std::move(back), {g});
  }
  const Slice every{std::vector<Extent>(places.size(), 0), places, op.stride};
  return make(std::move(back), {make(Update{{every}}, {zeros(g.dtype(), spread), g})});
}

/// A window taken apart: for each of its offsets, the elements of the padded operand that it sees, as a view.
class Offsets {
 public:
  Offsets(const Window& op, const Value& x, const Shape& result) : x_(x) {
    const size_t rank = op.size.size();
    std::vector<Extent> start;
    for (size_t i = 0; i < rank; ++i) {
      // Padding that crops leaves the elements where they are; the views just do not reach them.
      low_.push_back(simplify(max(0, op.low[i])));
      high_.push_back(simplify(max(0, op.high[i])));
      start.push_back(low_[i] - op.low[i]);
    }
    std::vector<int64_t> offset(rank, 0);
    for (bool more = true; more;) {
      Slice view{start, extents_of(result.axes()), op.stride};
      for (size_t i = 0; i < rank; ++i) {
        view.start[i] += Extent(offset[i] * op.dilation[i]);
      }
      views_.push_back(std::move(view));
      more = false;
      for (size_t i = rank; i-- > 0 && !more;) {
        more = ++offset[i] < op.size[i];
        offset[i] = more ? offset[i] : 0;
      }
    }
  }

  const std::vector<Slice>& views() const { return views_; }

  /// `value`, which has the operand's sizes, with padding.
  Value padded(const Value& value, double fill) const { return pad(value, low_, high_, "constant", fill); }

  /// Sums of what the views are given, without the padding.
  Value gathered(const std::vector<Value>& given) const {
    std::vector<Extent> size = extents_of(x_.shape().axes());
    std::vector<Extent> whole = size;
    bool is_padded = false;
    for (size_t i = 0; i < size.size(); ++i) {
      whole[i] += low_[i] + high_[i];
      is_padded = is_padded || whole[i] != size[i];
    }
    Value sum = zeros(x_.dtype(), whole);
    for (size_t k = 0; k < views_.size(); ++k) {
      sum = make(Update{{views_[k]}}, {sum, make(views_[k], {sum}) + given[k]});
    }
    return is_padded ? slice(sum, low_, size) : sum;
  }

  bool pads() const {
    const auto is_zero = [](const Extent& padding) { return padding == Extent(0); };
    return !std::ranges::all_of(low_, is_zero) || !std::ranges::all_of(high_, is_zero);
  }

 private:
  Value x_;
  std::vector<Extent> low_, high_;  // what is really padded
  std::vector<Slice> views_;        // in row-major order of the offsets
};

/// Which offset of its window each result is from: the first one that is the extreme, or the first NaN. Padding is
/// none.
Value winning_offsets(const Window& op, const Value& x, const Value& y) {
  const Offsets offsets(op, x, y.shape());
  const Value padded = offsets.padded(x, 0);
  const Value inside = offsets.pads() ? offsets.padded(full(x.shape().with_dtype(Dtype::boolean), 1), 0) : Value();
  const Value lost = isnan(y);
  Value winner = full(y.shape().with_dtype(Dtype::i32), -1);
  for (size_t k = offsets.views().size(); k-- > 0;) {
    const Value part = make(offsets.views()[k], {padded});
    Value hit = logical_or(eq(part, y), logical_and(isnan(part), lost));
    hit = inside ? logical_and(hit, make(offsets.views()[k], {inside})) : hit;
    winner = select(hit, static_cast<int64_t>(k), winner);
  }
  return winner;
}

/// The windows over an element, seen from it. Along an axis, window `(i + low) floordiv stride - j` is over element i,
/// for j = 0, 1, ..., with offset `((i + low) mod stride + j * stride) / dilation`, where that is one.
class Covering {
 public:
  Covering(const Window& op, const Value& x, const Shape& result) : op_(op), x_(x), result_(result) {
    for (size_t i = 0; i < op.size.size(); ++i) {
      if (op.size[i] != 1 || op.stride[i] != 1 || op.low[i] != Extent(0) || op.high[i] != Extent(0)) {
        moving_.push_back(static_cast<int>(i));
        counts_.push_back((span(i) + op.stride[i] - 1) / op.stride[i]);
      }
    }
  }

  /// For every choice of j: `given` at the windows, where the winner is the element itself.
  Value sum(const Value& winner, const Value& given) const {
    Value total;
    std::vector<int64_t> choice(counts_.size(), 0);
    for (bool more = true; more;) {
      const Value one = part(choice, winner, given);
      total = total ? total + one : one;
      more = false;
      for (size_t i = choice.size(); i-- > 0 && !more;) {
        more = ++choice[i] < counts_[i];
        choice[i] = more ? choice[i] : 0;
      }
    }
    return total;
  }

 private:
  /// Positions along one axis of x, and what is made of them: i64[n].
  struct Place {
    Value window;  // clamped into the result
    Value offset;  // of the element in that window
    Value valid;
  };
  Place place(int axis, int64_t j) const {
    const auto i = static_cast<size_t>(axis);
    const Value at = iota(Shape(Dtype::i64, {x_.shape().axis(axis)}), 0, op_.low[i]);
    const Value window = floor_div(at, op_.stride[i]) - j;
    const Value distance = mod(at, op_.stride[i]) + j * op_.stride[i];
    const Value last = broadcast(extent_value(result_.extent(axis) - 1), at.shape().axes(), {});
    Value valid = logical_and(logical_and(ge(window, 0), le(window, last)), lt(distance, span(i)));
    valid = op_.dilation[i] == 1 ? valid : logical_and(valid, eq(mod(distance, op_.dilation[i]), 0));
    return {.window = max(min(window, last), 0), .offset = floor_div(distance, op_.dilation[i]), .valid = valid};
  }

  /// Elements from the first to the last that a window sees.
  int64_t span(size_t axis) const { return (op_.size[axis] - 1) * op_.dilation[axis] + 1; }

  Value along(const Value& line, int axis) const { return broadcast(line, x_.shape().axes(), {axis}); }

  /// The result's elements at the windows, in the place of x's elements.
  Value at_windows(const Value& value, const std::vector<Value>& windows) const {
    if (moving_.empty()) {
      return value;
    }
    const Value found = gather(value, windows, {.axes = moving_});  // its axes are the moving ones, then the others
    std::vector<int> order(static_cast<size_t>(value.rank()));
    int next = 0;
    for (const int axis : moving_) {
      order[static_cast<size_t>(axis)] = next++;
    }
    for (const int axis : other_axes(value.rank(), moving_)) {
      order[static_cast<size_t>(axis)] = next++;
    }
    return transpose(found, order);
  }

  Value part(const std::vector<int64_t>& choice, const Value& winner, const Value& given) const {
    std::vector<Value> windows;
    Value expected = full(x_.shape().with_dtype(Dtype::i64), 0);
    Value valid;
    size_t next = 0;
    for (int axis = 0; axis < x_.rank(); ++axis) {
      if (next == moving_.size() || moving_[next] != axis) {
        continue;
      }
      const Place here = place(axis, choice[next++]);
      // Index operands of a gather share their axes: all have those of the moving ones.
      windows.push_back(here.window);
      expected = expected * op_.size[static_cast<size_t>(axis)] + along(here.offset, axis);
      valid = valid ? logical_and(valid, along(here.valid, axis)) : along(here.valid, axis);
    }
    std::vector<Axis> common;
    for (const int axis : moving_) {
      common.push_back(x_.shape().axis(axis));
    }
    for (size_t i = 0; i < windows.size(); ++i) {
      windows[i] = broadcast(windows[i], common, {static_cast<int>(i)});
    }
    Value hit = eq(cast(at_windows(winner, windows), Dtype::i64), expected);
    hit = valid ? logical_and(hit, valid) : hit;
    return select(hit, at_windows(given, windows), 0);
  }

  const Window& op_;
  const Value& x_;
  const Shape& result_;
  std::vector<int> moving_;      // axes along which windows are not single elements in place
  std::vector<int64_t> counts_;  // the most windows over an element, along each of them
};

/// The first element under a window that is its extreme (or its first NaN) gets all. Each element gathers what it gets,
/// so that nothing is written twice.
Value gradient_of_extreme(const Window& op, const Value& x, const Value& y, const Value& g) {
  return Covering(op, x, y.shape()).sum(winning_offsets(op, x, y), g);
}

/// The product of all other elements, from products of those before and those after: right for zeros, too.
Value gradient_of_product(const Window& op, const Value& x, const Shape& result, const Value& g) {
  const Offsets offsets(op, x, result);
  const Value padded = offsets.padded(x, 1);
  std::vector<Value> given;
  Value before = g;
  for (const Slice& view : offsets.views()) {
    given.push_back(before);
    before = before * make(view, {padded});
  }
  Value after;
  for (size_t k = given.size(); k-- > 0;) {
    given[k] = after ? given[k] * after : given[k];
    const Value part = make(offsets.views()[k], {padded});
    after = after ? after * part : part;
  }
  return offsets.gathered(given);
}

}  // namespace

Gradients gradient(const Window& op, const Node& node, const std::vector<Value>& outputs) {
  const Value& x = node.inputs[0];
  const Value& g = outputs[0];
  if (!g) {
    return {Value()};
  }
  switch (op.op) {
    case ReduceOp::sum: return {gradient_of_sum(op, x, g)};
    case ReduceOp::product: return {gradient_of_product(op, x, node.shapes[0], g)};
    default: return {gradient_of_extreme(op, x, Value(&node, 0), g)};
  }
}

}  // namespace tenon
