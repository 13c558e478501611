// The six views: gradients go back where the elements came from, and add up where one element was shown often.
#include "ops/axes.h"
#include "ops/gradient/gradient.h"
#include "ops/make.h"
#include "tenon/ops.h"

namespace tenon {
namespace {

/// Elements first ... first + count - 1 along one axis.
Value part(const Value& x, size_t axis, const Extent& first, const Extent& count) {
  std::vector<Extent> start(static_cast<size_t>(x.rank()), 0);
  std::vector<Extent> size = extents_of(x.shape().axes());
  start[axis] = first;
  size[axis] = count;
  return slice(x, start, size);
}

/// Zeros around x along one axis.
Value surround(const Value& x, size_t axis, const Extent& before, const Extent& after) {
  std::vector<Extent> low(static_cast<size_t>(x.rank()), 0);
  std::vector<Extent> high = low;
  low[axis] = before;
  high[axis] = after;
  return pad(x, low, high);
}

/// What a padded axis shows twice, added to where it came from: `g` has low + n + high elements along `axis`, the
/// result n. Each part of the padding is folded over the axis by views alone, so no two writes meet.
Value fold_padding(const Value& g, size_t axis, const Extent& low, const Extent& n, const Extent& high, PadMode mode) {
  const int a = static_cast<int>(axis);
  Value result = part(g, axis, low, n);
  const auto add_part = [&](const Value& piece, const Extent& before, const Extent& after) {
    result = result + surround(piece, axis, before, after);
  };
  if (low != Extent(0)) {
    const Value piece = part(g, axis, 0, low);
    switch (mode) {
      case PadMode::constant: break;
      case PadMode::edge: add_part(reduce_sum(piece, {a}, true), 0, n - 1); break;
      case PadMode::reflect: add_part(flip(piece, {a}), 1, n - 1 - low); break;
      case PadMode::wrap: add_part(piece, n - low, 0); break;
    }
  }
  if (high != Extent(0)) {
    const Value piece = part(g, axis, low + n, high);
    switch (mode) {
      case PadMode::constant: break;
      case PadMode::edge: add_part(reduce_sum(piece, {a}, true), n - 1, 0); break;
      case PadMode::reflect: add_part(flip(piece, {a}), n - 1 - high, 1); break;
      case PadMode::wrap: add_part(piece, 0, n - high); break;
    }
  }
  return result;
}

}  // namespace

Gradients gradient(const Reshape&, const Node& node, const std::vector<Value>& outputs) {
  return {reshape(outputs[0], node.inputs[0].shape().axes())};
}

Gradients gradient(const Transpose& op, const Node&, const std::vector<Value>& outputs) {
  std::vector<int> back(op.axes.size());
  for (size_t i = 0; i < op.axes.size(); ++i) {
    back[static_cast<size_t>(op.axes[i])] = static_cast<int>(i);
  }
  return {back.empty() ? outputs[0] : transpose(outputs[0], back)};
}

Gradients gradient(const Broadcast& op, const Node& node, const std::vector<Value>& outputs) {
  const Value& x = node.inputs[0];
  const std::vector<Axis>& to = outputs[0].shape().axes();
  std::vector<Axis> split;  // the gradient's axes, those that may or may not be repeated in two
  std::vector<int> summed;
  size_t from = 0;  // places are in order
  for (size_t j = 0; j < to.size(); ++j) {
    const bool placed = from < op.axes.size() && op.axes[from] == static_cast<int>(j);
    const Extent n = placed ? x.extent(static_cast<int>(from++)) : Extent(1);
    const Extent& m = to[j].extent();
    if (!placed || (n == Extent(1) && m != n)) {
      summed.push_back(static_cast<int>(split.size()));
      split.push_back(to[j]);
    } else if (n.is_constant() || compare(n, m) == Comparison::equal) {
      split.push_back(to[j]);
    } else {
      // n is 1 or m, and only the sizes tell: [n, m / n] is [1, m] or [m, 1], and [0, 0] when both are 0.
      split.emplace_back(n);
      summed.push_back(static_cast<int>(split.size()));
      split.emplace_back(floordiv(m, simplify(max(n, 1))));
    }
  }
  const Value apart = reshape(outputs[0], split);
  const Value sum = summed.empty() ? apart : make(Reduce{.op = ReduceOp::sum, .axes = summed}, {apart});
  return {reshape(sum, x.shape().axes())};
}

Gradients gradient(const Slice& op, const Node& node, const std::vector<Value>& outputs) {
  return {make(Update{{op}}, {full(node.inputs[0].shape(), 0), outputs[0]})};
}

Gradients gradient(const Pad& op, const Node& node, const std::vector<Value>& outputs) {
  const Value& x = node.inputs[0];
  if (op.mode == PadMode::constant) {
    return {slice(outputs[0], op.low, extents_of(x.shape().axes()))};
  }
  Value g = outputs[0];
  for (size_t i = 0; i < op.low.size(); ++i) {
    if (op.low[i] != Extent(0) || op.high[i] != Extent(0)) {
      g = fold_padding(g, i, op.low[i], x.extent(static_cast<int>(i)), op.high[i], op.mode);
    }
  }
  return {g};
}

Gradients gradient(const Flip& op, const Node&, const std::vector<Value>& outputs) {
  return {flip(outputs[0], op.axes)};
}

}  // namespace tenon
