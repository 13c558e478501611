// Pools.
#include <algorithm>
#include <limits>

#include "base/refused.h"
#include "onnx/import/registry.h"
#include "onnx/operators/quantised_product.h"
#include "onnx/operators/sliding_attributes.h"
#include "ops/axes.h"
#include "ops/sliding.h"
#include "tenon/indexing.h"
#include "tenon/nn.h"

namespace tenon::importer {
namespace {

constexpr int64_t kLargestWindow = int64_t{1} << 20;

std::vector<int64_t> kernel_shape(const NodeCall& call) {
  const std::vector<int64_t> sizes = call.list_attribute("kernel_shape");
  if (static_cast<int>(sizes.size()) + 2 != call.x(0).rank()) {
    refuse("kernel_shape has {} sizes, the input {} axes", sizes.size(), call.x(0).rank());
  }
  for (const int64_t size : sizes) {
    if (size < 1 || size > kLargestWindow) {
      refuse("kernel_shape has a size of {}", size);
    }
  }
  return sizes;
}

Results average(const NodeCall& call) {
  const std::vector<int64_t> sizes = kernel_shape(call);
  return average_pool(call.x(0), sizes, pool_options(call, sizes.size()));
}

Results lp(const NodeCall& call) {
  const std::vector<int64_t> sizes = kernel_shape(call);
  const double p = call.version() < 2 ? call.number_attribute("p", 2) : static_cast<double>(call.attribute("p", 2));
  return lp_pool(call.x(0), sizes, p, pool_options(call, sizes.size()));
}

/// Row-major positions of the elements of x among those of [batch, channel, position...]; with `by_column`, the last
/// two axes change places in that count.
Value flat_positions(const Value& x, bool by_column) {
  std::vector<int> order;
  for (int i = 0; i < x.rank(); ++i) {
    order.push_back(i);
  }
  if (by_column) {
    std::reverse(order.begin() + 2, order.end());
  }
  Value sum;
  Extent stride = 1;
  for (size_t k = order.size(); k > 0; --k) {
    const int axis = order[k - 1];
    const Value along = iota(x.shape().with_dtype(Dtype::i64), axis) * extent_value(stride);
    sum = sum ? sum + along : along;
    stride = stride * x.extent(axis);
  }
  return sum;
}

/// The positions of the maxima: each place of the window, one after the other, all of them stacked along a last axis.
Value max_positions(const NodeCall& call, const Value& y) {
  constexpr int64_t most_places = 1024;
  const Value& x = call.x(0);
  const std::vector<int64_t> sizes = kernel_shape(call);
  const PoolOptions options = pool_options(call, sizes.size());
  std::vector<Extent> low(2, 0);
  std::vector<Extent> high(2, 0);
  int64_t places = 1;
  std::vector<int64_t> steps(2, 1);
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int axis = static_cast<int>(i) + 2;
    const int64_t dilation = options.dilation.empty() ? 1 : options.dilation.at(i);
    Sliding window{.span = Extent(sizes[i] - 1) * dilation + 1,
                   .stride = options.stride.at(i),
                   .low = options.low.empty() ? Extent(0) : options.low.at(i),
                   .high = options.high.empty() ? Extent(0) : options.high.at(i)};
    apply_padding_rule(options.padding, x.extent(axis), window);
    low.push_back(window.low);
    // As far as the last window reaches, which with ceil_mode may be beyond the padding.
    high.push_back(max((y.extent(axis) - 1) * window.stride + window.span - x.extent(axis) - window.low, 0));
    steps.push_back(options.stride.at(i));
    places *= sizes[i];
    if (places > most_places) {
      refuse("positions of maxima in windows of {} elements are not supported", places);
    }
  }
  const double lowest = is_float(x.dtype())              ? -std::numeric_limits<double>::infinity()
                        : is_unsigned_integer(x.dtype()) ? 0
                                                         : -128;
  const Value padded = pad(x, low, high, "constant", lowest);
  const Value numbers = pad(flat_positions(x, call.flag("storage_order")), low, high);
  const std::vector<Extent> count = extents_of(y.shape().axes());
  std::vector<Value> values;
  std::vector<Value> positions;
  for (int64_t place = 0; place < places; ++place) {
    std::vector<Extent> start(2, 0);
    int64_t rest = place;
    for (size_t i = sizes.size(); i > 0; --i) {
      const int64_t dilation = options.dilation.empty() ? 1 : options.dilation.at(i - 1);
      start.insert(start.begin() + 2, Extent(rest % sizes[i - 1]) * dilation);
      rest /= sizes[i - 1];
    }
    values.push_back(slice(padded, start, count, steps));
    positions.push_back(slice(numbers, start, count, steps));
  }
  const Value best = argmax(stack(values, -1), -1, true);
  return squeeze(take_along_axis(stack(positions, -1), best, -1), {-1});
}

Results maximum(const NodeCall& call) {
  const std::vector<int64_t> sizes = kernel_shape(call);
  const auto pooled = [&](const Value& x) { return max_pool(x, sizes, pool_options(call, sizes.size())); };
  if (const auto integers = call.wants(1) ? std::nullopt : of_integers(call, call.item(0), pooled)) {
    return *integers;
  }
  const Value y = pooled(call.x(0));
  return call.wants(1) ? std::vector<Value>{y, max_positions(call, y)} : std::vector<Value>{y};
}

/// Each element goes back to the position it was taken from.
Results unpool(const NodeCall& call) {
  const Value& x = call.x(0);
  std::vector<Axis> axes = x.shape().axes();
  const std::vector<int64_t> sizes = kernel_shape(call);
  const SlidingAttributes sliding = sliding_attributes(call);
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int axis = static_cast<int>(i) + 2;
    const Extent stride = sliding.stride.empty() ? Extent(1) : Extent(sliding.stride.at(i));
    const Extent pads = sliding.low.empty() ? Extent(0) : sliding.low.at(i) + sliding.high.at(i);
    axes[i + 2] = (x.extent(axis) - 1) * stride - pads + sizes[i];
  }
  const Shape natural = x.shape().with_axes(axes);
  std::vector<Axis> wanted = axes;
  if (call.has(2)) {
    wanted = to_shape_axes(call.extents(2));
    if (wanted.size() != axes.size()) {
      refuse("output_shape has {} sizes, the input {} axes", wanted.size(), axes.size());
    }
  }
  // Positions count elements of the shape that the window implies; a larger output has them at the same coordinates.
  const Value zeros = full(shape(x.dtype(), natural.element_count()), 0);
  const Value flat = reshape(call.x(1), {Axis::anonymous()});
  const Value updates = reshape(x, {flat.shape().axis(0)});
  const Value placed = reshape(scatter(zeros, updates, {flat}, {.axes = {0}}), axes);
  std::vector<Extent> low(axes.size(), 0);
  std::vector<Extent> high;
  for (size_t i = 0; i < axes.size(); ++i) {
    high.push_back(wanted.at(i).extent() - axes[i].extent());
  }
  return pad(placed, low, high);
}

Results global_average(const NodeCall& call) { return global_average_pool(call.x(0)); }
Results global_maximum(const NodeCall& call) { return global_max_pool(call.x(0)); }

Results global_lp(const NodeCall& call) {
  const Value& x = call.x(0);
  Axes axes;
  for (int i = 2; i < x.rank(); ++i) {
    axes.push_back(i);
  }
  const double p = call.version() < 2 ? call.number_attribute("p", 2) : static_cast<double>(call.attribute("p", 2));
  return pow(reduce_sum(pow(abs(x), p), axes, true), 1 / p);
}

}  // namespace

std::vector<OperatorEntry> pool_operators() {
  return {
      {"", "AveragePool", 1, average},
      {"", "MaxPool", 1, maximum},
      {"", "LpPool", 1, lp},
      {"", "MaxUnpool", 9, unpool},
      {"", "GlobalAveragePool", 1, global_average},
      {"", "GlobalMaxPool", 1, global_maximum},
      {"", "GlobalLpPool", 1, global_lp},
  };
}

}  // namespace tenon::importer
