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

/// The first element under a window that is its extreme (or its first NaN) gets all.
Value gradient_of_extreme(const Window& op, const Value& x, const Value& y, const Value& g) {
  const Offsets offsets(op, x, y.shape());
  const Value padded = offsets.padded(x, 0);
  // Padding never gets anything, even where it equals the extreme.
  const Value inside = offsets.pads() ? offsets.padded(full(x.shape().with_dtype(Dtype::boolean), 1), 0) : Value();
  const Value lost = isnan(y);
  Value open;
  std::vector<Value> given;
  for (const Slice& view : offsets.views()) {
    const Value part = make(view, {padded});
    Value hit = logical_or(eq(part, y), logical_and(isnan(part), lost));
    hit = inside ? logical_and(hit, make(view, {inside})) : hit;
    hit = open ? logical_and(hit, open) : hit;
    open = open ? logical_and(open, logical_not(hit)) : logical_not(hit);
    given.push_back(select(hit, g, 0));
  }
  return offsets.gathered(given);
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
