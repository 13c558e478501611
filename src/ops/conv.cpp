// Conv: convolution and its transpose.
#include <algorithm>

#include "base/fail.h"
#include "base/refused.h"
#include "ops/axes.h"
#include "ops/conv_elements.h"
#include "ops/make.h"
#include "ops/sliding.h"
#include "tenon/convolution.h"
#include "tenon/unsupported.h"

namespace tenon {
namespace {

/// x's channels are `groups` times w's, and w's output channels are shared out evenly.
void match_channels(const Conv& op, const Value& x, const Value& w, std::vector<Constraint>& constraints) {
  if (op.groups == 1) {
    match_axes(x, 1, w, 1, constraints);
    return;
  }
  const Constraint channels{.kind = Constraint::Kind::equal, .lhs = x.extent(1), .rhs = w.extent(1) * op.groups};
  if (decide(channels) == Verdict::fails) {
    refuse("axis 1 of {} is {}, must be {}: {} groups of {} channels", describe(x), x.shape().axis(1).to_string(),
           channels.rhs.to_string(), op.groups, w.extent(1).to_string());
  }
  const Constraint even{.kind = Constraint::Kind::divisible, .lhs = w.extent(0), .rhs = op.groups};
  if (decide(even) == Verdict::fails) {
    refuse("axis 0 of {} is {}, not a multiple of {} groups", describe(w), w.shape().axis(0).to_string(), op.groups);
  }
  constraints.push_back(channels);
  constraints.push_back(even);
}

/// How many position axes there are; x and w must agree on it.
size_t position_axes(const Value& x, const Value& w) {
  if (x.rank() < 3 || x.rank() != w.rank()) {
    refuse("the operands have {} and {} axes; both need two for channels and as many for positions, at least one",
           x.rank(), w.rank());
  }
  return static_cast<size_t>(x.rank() - 2);
}

}  // namespace

Inferred infer(const Conv& op, Operands in) {
  const Value& x = in[0];
  const Value& w = in[1];
  const size_t count = position_axes(x, w);
  if (x.dtype() == Dtype::boolean) {
    refuse("is for numbers, not bool");
  }
  if (!multiplies_into(x.dtype(), w.dtype(), op.dtype)) {
    if (x.dtype() != w.dtype() && x.dtype() == op.dtype) {
      refuse("operands are {} and {}; cast one of them", name(x.dtype()), name(w.dtype()));
    }
    throw Unsupported(fmt::format("{} times {} in {} is not supported; cast the operands", name(x.dtype()),
                                  name(w.dtype()), name(op.dtype)));
  }
  require_steps(op.stride, count, "stride");
  require_steps(op.x_dilation, count, "dilation of x");
  require_steps(op.w_dilation, count, "dilation");
  require_padding(op.low, count, "low padding");
  require_padding(op.high, count, "high padding");
  if (op.groups < 1) {
    refuse("{} groups are not a number of groups", op.groups);
  }
  Inferred result;
  match_channels(op, x, w, result.constraints);
  std::vector<Axis> axes{x.shape().axis(0), w.shape().axis(0)};
  for (size_t i = 0; i < count; ++i) {
    const int axis = static_cast<int>(i) + 2;
    axes.push_back(slide(x, axis,
                         {.span = dilated(w.extent(axis), op.w_dilation[i]),
                          .stride = op.stride[i],
                          .low = op.low[i],
                          .high = op.high[i],
                          .x_dilation = op.x_dilation[i]},
                         result.constraints));
  }
  result.shapes = {Shape(op.dtype, std::move(axes))};
  return result;
}

Value conv(const Value& x, const Value& w, const ConvOptions& options) {
  return in_context("conv", {x, w}, [&] {
    const size_t count = position_axes(x, w);
    Conv op{.stride = list_or<int64_t>(options.stride, count, 1),
            .x_dilation = list_or<int64_t>(options.x_dilation, count, 1),
            .w_dilation = list_or<int64_t>(options.dilation, count, 1),
            .low = list_or<Extent>(options.low, count, 0),
            .high = list_or<Extent>(options.high, count, 0),
            .groups = options.groups,
            .dtype = options.dtype.value_or(x.dtype())};
    require_steps(op.stride, count, "stride");
    require_steps(op.x_dilation, count, "dilation of x");
    require_steps(op.w_dilation, count, "dilation");
    require_padding(op.low, count, "low padding");
    require_padding(op.high, count, "high padding");
    for (size_t i = 0; i < count; ++i) {
      const int axis = static_cast<int>(i) + 2;
      if (w.extent(axis) == Extent(0)) {
        refuse("axis {} of {} is 0: a kernel has at least one offset", axis, describe(w));
      }
      Sliding window{.span = dilated(w.extent(axis), op.w_dilation[i]),
                     .stride = op.stride[i],
                     .low = op.low[i],
                     .high = op.high[i]};
      apply_padding_rule(options.padding, dilated(x.extent(axis), op.x_dilation[i]), window);
      op.low[i] = window.low;
      op.high[i] = window.high;
    }
    return make(std::move(op), {x, w});
  });
}

Value conv_transpose(const Value& x, const Value& w, const ConvTransposeOptions& options) {
  return in_context("conv_transpose", {x, w}, [&] {
    const size_t count = position_axes(x, w);
    const auto stride = list_or<int64_t>(options.stride, count, 1);
    const auto dilation = list_or<int64_t>(options.dilation, count, 1);
    const auto low = list_or<Extent>(options.low, count, 0);
    const auto high = list_or<Extent>(options.high, count, 0);
    const auto extra = list_or<Extent>(options.output_padding, count, 0);
    require_steps(stride, count, "stride");
    require_steps(dilation, count, "dilation");
    require_padding(low, count, "low padding");
    require_padding(high, count, "high padding");
    require_padding(extra, count, "output padding");
    std::vector<Constraint> constraints;
    if (options.groups < 1) {
      refuse("{} groups are not a number of groups", options.groups);
    }
    if (compare(x.extent(1), w.extent(0)) == Comparison::different) {
      match_axes(x, 1, w, 0, constraints);  // its message speaks of the axes as they were given
    }
    // Every element of x spreads w over the result, `stride` apart: a convolution of x with zeros between its elements
    // and around it, with the weights the other way round.
    Conv op{.stride = std::vector<int64_t>(count, 1),
            .x_dilation = stride,
            .w_dilation = dilation,
            .low = {},
            .high = {},
            .groups = options.groups,
            .dtype = x.dtype()};
    for (size_t i = 0; i < count; ++i) {
      const Extent reach = dilated(w.extent(static_cast<int>(i) + 2), dilation[i]) - 1;
      op.low.push_back(reach - low[i]);
      op.high.push_back(reach - high[i] + extra[i]);
    }
    const Value weights = adjoint_weights(w, options.groups);
    // Without gaps this is a convolution like any other, of which padding counts: infinity times 0.
    const bool has_gaps = std::ranges::any_of(stride, [](int64_t step) { return step != 1; });
    const std::optional<Value> exact =
        has_gaps || is_finite_constant(w) ? std::nullopt : conv_of_elements(op, x, weights);
    return exact ? *exact : make(std::move(op), {x, weights});
  });
}

}  // namespace tenon
