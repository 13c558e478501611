// Both derivatives of a convolution are convolutions. With i * x_dilation + low = p * stride + k * w_dilation relating
// positions i of x, p of the result and k of w, each of the three can be solved for.
#include "ops/gradient/gradient.h"
#include "ops/make.h"
#include "ops/sliding.h"
#include "tenon/ops.h"

namespace tenon {
namespace {

/// First to last element, less one.
Extent reach(const Value& value, size_t position_axis, int64_t dilation) {
  return (value.extent(static_cast<int>(position_axis) + 2) - 1) * dilation;
}

/// `axes`, then the position axes of x, which has `leading` axes before them.
Axes with_positions(Axes axes, const Value& x, int leading) {
  for (int i = leading; i < x.rank(); ++i) {
    axes.push_back(i);
  }
  return axes;
}

/// The gradient slides over x's positions with the weights reversed. High padding makes up exactly x's size: it is
/// negative where w reaches beyond, and covers elements at the end of x that no window reads.
Value gradient_of_x(const Conv& op, const Value& x, const Value& w, const Value& g) {
  Conv back{.stride = op.x_dilation,
            .x_dilation = op.stride,
            .w_dilation = op.w_dilation,
            .low = {},
            .high = {},
            .groups = op.groups,
            .dtype = op.dtype};
  for (size_t i = 0; i < op.stride.size(); ++i) {
    back.low.push_back(reach(w, i, op.w_dilation[i]) - op.low[i]);
    back.high.push_back(reach(x, i, op.x_dilation[i]) - reach(g, i, op.stride[i]) + op.low[i]);
  }
  return make(std::move(back), {g, adjoint_weights(w, op.groups)});
}

/// x[batch, groups * c, position...] as [c, groups * batch, position...]: channels become the batch, and each group
/// sums over its own batch.
Value batch_as_channels(const Value& x, int64_t groups) {
  if (groups == 1) {
    return transpose(x, with_positions({1, 0}, x, 2));
  }
  const Axis part = share(x.extent(1), groups);
  std::vector<Axis> split{x.shape().axis(0), groups, part};
  std::vector<Axis> joined{part, x.extent(0) * groups};
  for (int i = 2; i < x.rank(); ++i) {
    split.push_back(x.shape().axis(i));
    joined.push_back(x.shape().axis(i));
  }
  const Value grouped = reshape(x, split);
  return reshape(transpose(grouped, with_positions({2, 1, 0}, grouped, 3)), joined);
}

/// The gradient is the kernel that slides over x, the batch is what is summed; offsets of w are the positions.
Value gradient_of_w(const Conv& op, const Value& x, const Value& w, const Value& g) {
  Conv back{.stride = op.w_dilation,
            .x_dilation = op.x_dilation,
            .w_dilation = op.stride,
            .low = op.low,
            .high = {},
            .groups = op.groups,
            .dtype = op.dtype};
  for (size_t i = 0; i < op.stride.size(); ++i) {
    back.high.push_back(reach(w, i, op.w_dilation[i]) + reach(g, i, op.stride[i]) - reach(x, i, op.x_dilation[i]) -
                        op.low[i]);
  }
  const Value kernel = transpose(g, with_positions({1, 0}, g, 2));
  const Value result = make(std::move(back), {batch_as_channels(x, op.groups), kernel});
  return transpose(result, with_positions({1, 0}, result, 2));
}

}  // namespace

Gradients gradient(const Conv& op, const Node& node, const std::vector<Value>& outputs) {
  const Value& x = node.inputs[0];
  const Value& w = node.inputs[1];
  const Value& g = outputs[0];
  if (!g) {
    return {Value(), Value()};
  }
  return {gradient_of_x(op, x, w, g), gradient_of_w(op, x, w, g)};
}

}  // namespace tenon
