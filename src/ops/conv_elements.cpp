#include "ops/conv_elements.h"

#include <cmath>
#include <numeric>

#include "ops/axes.h"
#include "ops/infer.h"
#include "tenon/convolution.h"
#include "tenon/ops.h"

namespace tenon {
namespace {

/// How many products may fall on one element of the result for each channel: all of them are read there.
constexpr int64_t kMostParts = 64;

/// One position axis.
struct Gap {
  int64_t taps = 1;    // offsets of the weights
  int64_t apart = 1;   // from one to the next
  int64_t spread = 1;  // from one element of x to the next
  Extent low;

  int64_t reach() const { return (taps - 1) * apart + 1; }
  int64_t parts() const { return (reach() + spread - 1) / spread; }
};

std::optional<std::vector<Gap>> gaps_of(const Conv& op, const Value& x, const Value& w, const Shape& result) {
  std::vector<Gap> gaps;
  int64_t parts = 1;
  for (size_t i = 0; i < op.stride.size(); ++i) {
    const int axis = static_cast<int>(i) + 2;
    const std::optional<int64_t> taps = w.extent(axis).constant();
    const std::optional<int64_t> elements = x.extent(axis).constant();
    const std::optional<int64_t> results = result.extent(axis).constant();
    if (op.stride[i] != 1 || !taps || *taps < 1 || *taps > kMostParts * op.x_dilation[i] ||
        (elements && results && *results < *elements)) {
      return {};
    }
    gaps.push_back({.taps = *taps, .apart = op.w_dilation[i], .spread = op.x_dilation[i], .low = op.low[i]});
    parts *= gaps.back().parts();
    if (parts > kMostParts) {
      return {};
    }
  }
  return gaps;
}

/// x with `low` and `high` more elements along one axis; less than 0 crops, of what is there when both were added.
Value padded(const Value& x, int axis, const Extent& low, const Extent& high) {
  const Extent size = x.extent(axis) + low + high;
  const auto at = static_cast<size_t>(axis);
  std::vector<Extent> before(static_cast<size_t>(x.rank()), 0);
  std::vector<Extent> behind = before;
  std::vector<Extent> start = before;
  before[at] = max(low, 0);
  behind[at] = max(high, 0);
  start[at] = max(-low, 0);
  const bool grows = before[at] != Extent(0) || behind[at] != Extent(0);
  const Value longer = grows ? pad(x, before, behind, "constant", 0) : x;
  if (start[at] == Extent(0) && longer.extent(axis) == size) {
    return longer;
  }
  std::vector<Extent> sizes = extents_of(longer.shape().axes());
  sizes[at] = size;
  return slice(longer, start, sizes);
}

/// All offsets of the weights, the other way round, as output channels of their own.
Value weights_of_elements(const Value& w) {
  Axes offsets(static_cast<size_t>(w.rank()) - 2);
  std::iota(offsets.begin(), offsets.end(), 2);
  Axes order = {0};
  order.insert(order.end(), offsets.begin(), offsets.end());
  order.push_back(1);
  Extent rows = w.extent(0);
  for (const int axis : offsets) {
    rows *= w.extent(axis);
  }
  std::vector<Axis> to = {Axis(rows), w.shape().axis(1)};
  to.resize(static_cast<size_t>(w.rank()), Axis(1));
  return reshape(transpose(flip(w, offsets), order), to);
}

/// How the results of a position axis lie in rows of `spread`: result q is place q mod spread of row q / spread. Of the
/// offset k times `apart`, plus `before`, the place is the remainder, and the quotient less `first` says how many rows
/// behind that of its element it falls.
struct Rows {
  int64_t before = 0, first = 0;
  Extent count;
  Extent front;  // results that are there beside: padding or, below 0, too many
};

Rows rows_of(const Gap& gap, const Extent& elements, const Extent& results) {
  const Extent ahead = (gap.taps - 1) * gap.apart - gap.low;  // of the first result
  const std::optional<int64_t> known = ahead.constant();
  if (!known) {
    return {.before = 0, .first = 0, .count = elements + ((gap.reach() - 1) / gap.spread), .front = -ahead};
  }
  const int64_t before = ((-*known) % gap.spread + gap.spread) % gap.spread;
  return {.before = before, .first = (*known + before) / gap.spread, .count = ceildiv(results, gap.spread), .front = 0};
}

/// Along `offset`, `all` has the products of one position axis with each weight, and along `element` with each element
/// of x. Adds up what falls on one result: rows are then where elements were, and places where offsets were.
Value added_up(const Value& all, int offset, int element, const Gap& gap, const Rows& rows) {
  Value x = all;
  std::vector<Axis> split = x.shape().axes();
  if (gap.apart != 1) {  // zeros between the offsets, behind the products
    split.insert(split.begin() + offset + 1, Axis(1));
    x = padded(reshape(x, split), offset + 1, 0, gap.apart - 1);
    split = all.shape().axes();
    split[static_cast<size_t>(offset)] = Axis(gap.taps * gap.apart);
    x = reshape(x, split);
  }
  const int64_t parts = (rows.before + gap.reach() + gap.spread - 1) / gap.spread;
  x = padded(x, offset, rows.before, parts * gap.spread - gap.taps * gap.apart - rows.before);
  split[static_cast<size_t>(offset)] = Axis(parts);
  split.insert(split.begin() + offset + 1, Axis(gap.spread));
  x = reshape(x, split);
  Value sum;
  for (int64_t part = 0; part < parts; ++part) {
    const Extent down = part - rows.first;
    const Value each = padded(squeeze(slice_axis(x, offset, part, part + 1), {offset}), element, down,
                              rows.count - all.extent(element) - down);
    sum = part == 0 ? each : sum + each;
  }
  return sum;
}

/// The places of each position axis behind its rows, and as many results as there are.
Value in_line(const Value& sums, const std::vector<Gap>& gaps, const std::vector<Rows>& rows, const Shape& result) {
  const auto count = static_cast<int>(gaps.size());
  Axes order = {0, 1};
  std::vector<Axis> merged = {result.axis(0), result.axis(1)};
  for (int i = 0; i < count; ++i) {
    order.push_back(2 + count + i);
    order.push_back(2 + i);
    merged.emplace_back(sums.extent(2 + count + i) * sums.extent(2 + i));
  }
  Value y = reshape(transpose(sums, order), merged);
  for (int i = 0; i < count; ++i) {
    const Extent& front = rows[static_cast<size_t>(i)].front;
    y = padded(y, i + 2, front, result.extent(i + 2) - y.extent(i + 2) - front);
  }
  return y;
}

}  // namespace

bool is_finite_constant(const Value& w) {
  if (!is_float(w.dtype())) {
    return true;
  }
  const Node* node = &w.node();
  while (as_view(node->op)) {
    node = &node->inputs[0].node();
  }
  const auto* constant = node->as<Constant>();
  if (constant == nullptr) {
    return false;
  }
  for (int64_t i = 0; i < constant->value.size(); ++i) {
    if (!std::isfinite(constant->value.at(i))) {
      return false;
    }
  }
  return true;
}

std::optional<Value> conv_of_elements(const Conv& op, const Value& x, const Value& w) {
  const std::vector<Value> operands{x, w};
  const Shape result = infer(op, operands).shapes[0];
  const std::optional<std::vector<Gap>> gaps = gaps_of(op, x, w, result);
  if (!gaps) {
    return {};
  }
  const Dtype wide = compute_dtype(op.dtype);  // half types round once, behind the sums
  const auto in_wide = [&](const Value& value) { return op.dtype == wide ? value : cast(value, wide); };
  const Value products = conv(in_wide(x), in_wide(weights_of_elements(w)), {.groups = op.groups, .dtype = wide});
  std::vector<Axis> axes = {result.axis(0), result.axis(1)};
  for (const Gap& gap : *gaps) {
    axes.emplace_back(gap.taps);
  }
  axes.insert(axes.end(), products.shape().axes().begin() + 2, products.shape().axes().end());
  Value y = reshape(products, axes);
  const auto count = static_cast<int>(gaps->size());
  std::vector<Rows> rows;
  for (int i = 0; i < count; ++i) {
    const Gap& gap = (*gaps)[static_cast<size_t>(i)];
    rows.push_back(rows_of(gap, x.extent(i + 2), result.extent(i + 2)));
    y = added_up(y, i + 2, i + 2 + count, gap, rows.back());
  }
  return cast(reshape(in_line(y, *gaps, rows, result), result.axes()), op.dtype);
}

}  // namespace tenon
