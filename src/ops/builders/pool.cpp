// Pools: Window over the position axes of [batch, channel, position...].
#include <algorithm>
#include <cmath>

#include "base/fail.h"
#include "base/refused.h"
#include "ops/make.h"
#include "ops/needed_by.h"
#include "ops/sliding.h"
#include "tenon/convolution.h"

namespace tenon {
namespace {

/// The window of a pool along one position axis.
struct PoolAxis {
  int64_t size = 1;
  int64_t dilation = 1;
  Sliding window;        // with all padding
  Extent high_declared;  // without what ceil_mode adds at the end
};

/// Padding at the end that gives ceil((n + low + high - span) / stride) + 1 positions, less those that begin beyond n.
Extent ceil_mode_padding(const Extent& n, const Sliding& window) {
  const int64_t stride = window.stride;
  const Extent reached = ceildiv(window.low + n + window.high - window.span, stride) + 1;
  const bool all_begin_inside = proves_at_least(window.span, window.high + stride);
  const Extent positions = all_begin_inside ? reached : min(reached, ceildiv(n + window.low, stride));
  return (positions - 1) * stride + window.span - n - window.low;
}

size_t position_axes(const Value& x) {
  if (x.rank() < 3) {
    refuse("needs [batch, channel, position...], not {}", x.shape().to_string());
  }
  return static_cast<size_t>(x.rank() - 2);
}

void require_float(const Value& x) {
  if (!is_float(x.dtype())) {
    refuse("is for floats, not {}; cast first", name(x.dtype()));
  }
}

Axes position_axis_list(const Value& x) {
  Axes axes;
  for (size_t i = 0; i < position_axes(x); ++i) {
    axes.push_back(static_cast<int>(i) + 2);
  }
  return axes;
}

std::vector<PoolAxis> pool_axes(const Value& x, const std::vector<int64_t>& size, const PoolOptions& options) {
  const size_t count = position_axes(x);
  require_steps(size, count, "size");
  const auto stride = options.stride.empty() ? size : options.stride;
  const auto dilation = list_or<int64_t>(options.dilation, count, 1);
  const auto low = list_or<Extent>(options.low, count, 0);
  const auto high = list_or<Extent>(options.high, count, 0);
  require_steps(stride, count, "stride");
  require_steps(dilation, count, "dilation");
  require_padding(low, count, "low padding");
  require_padding(high, count, "high padding");
  std::vector<PoolAxis> axes;
  for (size_t i = 0; i < count; ++i) {
    const Extent& n = x.extent(static_cast<int>(i) + 2);
    Sliding window{.span = dilated(size[i], dilation[i]), .stride = stride[i], .low = low[i], .high = high[i]};
    apply_padding_rule(options.padding, n, window);
    const Extent declared = window.high;
    if (options.ceil_mode) {
      window.high = ceil_mode_padding(n, window);
    }
    axes.push_back({size[i], dilation[i], window, declared});
  }
  return axes;
}

/// A Window over `axes`, which come after `leading` axes that it leaves alone.
Value slide_over(ReduceOp op, const Value& x, size_t leading, const std::vector<PoolAxis>& axes) {
  const std::vector<int64_t> ones(leading, 1);
  const std::vector<Extent> zeros(leading, 0);
  Window window{.op = op, .size = ones, .stride = ones, .dilation = ones, .low = zeros, .high = zeros};
  for (const PoolAxis& axis : axes) {
    window.size.push_back(axis.size);
    window.stride.push_back(axis.window.stride);
    window.dilation.push_back(axis.dilation);
    window.low.push_back(axis.window.low);
    window.high.push_back(axis.window.high);
  }
  return make(std::move(window), {x});
}

Value pool(std::string_view operation, ReduceOp op, const Value& x, const std::vector<int64_t>& size,
           const PoolOptions& options) {
  return in_context(operation, {x}, [&] { return slide_over(op, x, 2, pool_axes(x, size, options)); });
}

/// How many elements count at each position along an axis of size n: the sum of ones. Nothing when always all.
std::optional<Value> count_along(const PoolAxis& axis, const Extent& n, Dtype dtype, bool include_padding) {
  PoolAxis counted = axis;
  Extent ones = n;
  if (include_padding) {
    ones = axis.window.low + n + axis.high_declared;
    counted.window.low = 0;
    counted.window.high = axis.window.high - axis.high_declared;
  }
  const auto pads_nothing = [](const Extent& padding) { return proves_at_least(0, padding); };
  if (pads_nothing(counted.window.low) && pads_nothing(counted.window.high)) {
    return std::nullopt;
  }
  return slide_over(ReduceOp::sum, full(Shape(dtype, {Axis(ones)}), 1), 0, {counted});
}

}  // namespace

Value max_pool(const Value& x, const std::vector<int64_t>& size, const PoolOptions& options) {
  return pool("max_pool", ReduceOp::max, x, size, options);
}

Value sum_pool(const Value& x, const std::vector<int64_t>& size, const PoolOptions& options) {
  return pool("sum_pool", ReduceOp::sum, x, size, options);
}

Value average_pool(const Value& x, const std::vector<int64_t>& size, const PoolOptions& options) {
  return in_context("average_pool", {x}, [&] {
    require_float(x);
    const std::vector<PoolAxis> axes = pool_axes(x, size, options);
    const Value sum = slide_over(ReduceOp::sum, x, 2, axes);
    // Counts are a product over the axes, each of which counts its own positions, or always its whole window.
    double whole = 1;
    std::optional<Value> varying;
    for (size_t i = 0; i < axes.size(); ++i) {
      const Extent& n = x.extent(static_cast<int>(i) + 2);
      const auto counts = count_along(axes[i], n, x.dtype(), options.count_include_pad);
      if (!counts) {
        whole *= static_cast<double>(axes[i].size);
        continue;
      }
      std::vector<Axis> aligned{sum.shape().axis(static_cast<int>(i) + 2)};
      aligned.resize(axes.size() - i, Axis(1));
      const Value along = reshape(*counts, aligned);
      varying = varying ? *varying * along : along;
    }
    return varying ? sum / (*varying * whole) : sum / whole;
  });
}

Value lp_pool(const Value& x, const std::vector<int64_t>& size, double p, const PoolOptions& options) {
  return in_context("lp_pool", {x}, [&]() -> Value {
    require_float(x);
    if (!(p > 0) || std::isinf(p)) {
      refuse("the order of the norm is {}, must be positive", p);
    }
    if (p == 1) {
      return sum_pool(abs(x), size, options);
    }
    if (p == 2) {
      return sqrt(sum_pool(square(x), size, options));
    }
    return pow(sum_pool(pow(abs(x), p), size, options), 1 / p);
  });
}

Value global_average_pool(const Value& x) {
  return in_context("global_average_pool", {x}, [&] { return reduce_mean(x, position_axis_list(x), true); });
}

Value global_max_pool(const Value& x) {
  return in_context("global_max_pool", {x}, [&] { return reduce_max(x, position_axis_list(x), true); });
}

Value adaptive_average_pool(const Value& x, const std::vector<int64_t>& size) {
  return in_context("adaptive_average_pool", {x}, [&] {
    const NeededBy needed("adaptive_average_pool");
    const size_t count = position_axes(x);
    require_steps(size, count, "size");
    std::vector<Axis> parts{x.shape().axis(0), x.shape().axis(1)};
    Axes inside;
    for (size_t i = 0; i < count; ++i) {
      const int axis = static_cast<int>(i) + 2;
      const Extent& n = x.extent(axis);
      if (decide({.kind = Constraint::Kind::divisible, .lhs = n, .rhs = size[i]}) == Verdict::fails) {
        refuse("axis {} is {}, not a multiple of {}", axis, x.shape().axis(axis).to_string(), size[i]);
      }
      parts.emplace_back(size[i]);
      inside.push_back(static_cast<int>(parts.size()));
      parts.emplace_back(share(n, size[i]));
    }
    return reduce_mean(reshape(x, parts), inside);
  });
}

}  // namespace tenon
