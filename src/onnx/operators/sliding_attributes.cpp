#include "onnx/operators/sliding_attributes.h"

#include <algorithm>

#include "base/refused.h"

namespace tenon::importer {
namespace {

std::string padding_rule(const NodeCall& call) {
  const std::string rule = call.text_attribute("auto_pad", "NOTSET");
  if (rule == "NOTSET" || rule.empty()) {
    return "explicit";
  }
  if (rule == "VALID") {
    return "valid";
  }
  if (rule == "SAME_UPPER" || rule == "SAME_LOWER") {
    return rule == "SAME_UPPER" ? "same_upper" : "same_lower";
  }
  refuse("auto_pad is `{}`, must be NOTSET, VALID, SAME_UPPER or SAME_LOWER", rule);
}

}  // namespace

SlidingAttributes sliding_attributes(const NodeCall& call) {
  SlidingAttributes result{.stride = call.list_attribute("strides"),
                           .dilation = call.list_attribute("dilations"),
                           .low = {},
                           .high = {},
                           .padding = padding_rule(call)};
  if (result.padding == "explicit") {
    const std::vector<int64_t> pads = call.list_attribute("pads");
    if (pads.size() % 2 != 0) {
      refuse("there are {} pads, must be two for each axis", pads.size());
    }
    if (std::ranges::any_of(pads, [](int64_t pad) { return pad < 0; })) {
      refuse("pads are [{}], must not be negative: a Slice before {} crops", fmt::join(pads, ", "), call.type());
    }
    const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(pads.size() / 2);
    result.low.assign(pads.begin(), middle);
    result.high.assign(middle, pads.end());
  }
  const int rank = call.x(0).rank();
  for (const size_t count : {result.stride.size(), result.dilation.size(), result.low.size()}) {
    if (count != 0 && static_cast<int>(count) + 2 != rank) {
      refuse("strides, dilations and pads are given for {} axes, the input has {} behind the channels", count,
             rank - 2);
    }
  }
  return result;
}

ConvOptions conv_options(const NodeCall& call) {
  SlidingAttributes sliding = sliding_attributes(call);
  return {.stride = std::move(sliding.stride),
          .dilation = std::move(sliding.dilation),
          .low = std::move(sliding.low),
          .high = std::move(sliding.high),
          .padding = std::move(sliding.padding),
          .groups = call.attribute("group", 1)};
}

PoolOptions pool_options(const NodeCall& call, size_t position_axes) {
  SlidingAttributes sliding = sliding_attributes(call);
  if (sliding.stride.empty()) {
    sliding.stride.assign(position_axes, 1);
  }
  return {.stride = std::move(sliding.stride),
          .dilation = std::move(sliding.dilation),
          .low = std::move(sliding.low),
          .high = std::move(sliding.high),
          .padding = std::move(sliding.padding),
          .ceil_mode = call.flag("ceil_mode"),
          .count_include_pad = call.flag("count_include_pad")};
}

Value with_kernel_shape(const NodeCall& call, const Value& w) {
  const std::vector<int64_t> sizes = call.list_attribute("kernel_shape");
  std::vector<Axis> axes = w.shape().axes();
  if (sizes.empty()) {
    return w;
  }
  const auto refuse_sizes = [&] {
    refuse("kernel_shape is [{}], but the weights are {}", fmt::join(sizes, ", "), w.shape().to_string());
  };
  if (sizes.size() + 2 != axes.size()) {
    refuse_sizes();
  }
  bool changed = false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!axes[i + 2].is_dynamic() && axes[i + 2].extent() != Extent(sizes[i])) {
      refuse_sizes();
    }
    if (axes[i + 2].is_dynamic()) {
      call.require_equal(axes[i + 2].extent(), sizes[i]);
      axes[i + 2] = sizes[i];
      changed = true;
    }
  }
  return changed ? reshape(w, axes) : w;
}

Value channels_second(const Value& x) {
  Axes order = {0, x.rank() - 1};
  for (int i = 1; i + 1 < x.rank(); ++i) {
    order.push_back(i);
  }
  return transpose(x, order);
}

Value channels_last(const Value& x) {
  Axes order = {0};
  for (int i = 2; i < x.rank(); ++i) {
    order.push_back(i);
  }
  order.push_back(1);
  return transpose(x, order);
}

Value along_channels(const Value& vector, int rank) {
  Axes behind;
  for (int i = 2; i < rank; ++i) {
    behind.push_back(i - 1);
  }
  return behind.empty() ? vector : expand_dims(vector, behind);
}

}  // namespace tenon::importer
