// Convolutions: ONNX's own for floats, products of slices for integers, which wrap.
#include <algorithm>
#include <limits>
#include <optional>

#include "base/fail.h"
#include "onnx/export/export_places.h"
#include "onnx/export/export_types.h"
#include "onnx/export/export_writer.h"
#include "ops/axes.h"

namespace tenon::exporter {
namespace {

/// Zeros between the elements along one axis of x, whose shape becomes that of the result.
std::string dilated(const std::string& x, Shape& shape, int axis, int64_t by, OnnxWriter& to) {
  // One axis of size 1 behind it, padded to `by`, joined with it again; the last zeros are too many.
  const auto at = static_cast<size_t>(axis);
  std::vector<Axis> axes = shape.axes();
  axes.insert(axes.begin() + axis + 1, Axis(1));
  std::vector<Extent> high(axes.size(), 0);
  high[at + 1] = by - 1;
  const std::string spread = to.pad(to.unsqueeze(x, {axis + 1}), shape.with_axes(axes),
                                    std::vector<Extent>(axes.size(), 0), high, Array::scalar(shape.dtype(), 0));
  std::vector<Extent> joint = extents_of(shape.axes());
  joint[at] = joint[at] * by;
  axes = shape.axes();
  axes[at] = Axis((shape.extent(axis) - 1) * by + 1);
  shape = shape.with_axes(axes);
  return to.slice(to.reshape(spread, joint), {0}, {1 - by}, {axis}, {1});
}

/// x with zeros between and around its elements, as the convolution sees it.
std::string surrounded(const Conv& kind, std::string x, Shape shape, bool padded, OnnxWriter& to) {
  for (size_t i = 0; i < kind.x_dilation.size(); ++i) {
    if (kind.x_dilation[i] != 1) {
      x = dilated(x, shape, static_cast<int>(i) + 2, kind.x_dilation[i], to);
    }
  }
  if (!padded) {
    return x;
  }
  std::vector<Extent> low{0, 0};
  std::vector<Extent> high{0, 0};
  low.insert(low.end(), kind.low.begin(), kind.low.end());
  high.insert(high.end(), kind.high.begin(), kind.high.end());
  return to.pad(x, shape, low, high, Array::scalar(shape.dtype(), 0));
}

/// What the convolution reads of x, and the weights, both with channels split into groups.
struct Grouped {
  std::string x, w;
};

Grouped grouped(const Conv& kind, const Node& node, OnnxWriter& to) {
  const Shape& weights = node.inputs[1].shape();
  const Shape& result = node.shapes[0];
  std::vector<Extent> split{result.extent(0), kind.groups, weights.extent(1)};
  std::vector<Extent> kernel{kind.groups, *divide_exactly(weights.extent(0), kind.groups), weights.extent(1)};
  std::vector<int64_t> axes;
  for (int axis = 2; axis < weights.rank(); ++axis) {
    const auto at = static_cast<size_t>(axis - 2);
    const Extent reach = (weights.extent(axis) - 1) * kind.w_dilation[at];
    split.push_back(reach + (result.extent(axis) - 1) * kind.stride[at] + 1);
    kernel.push_back(weights.extent(axis));
    axes.push_back(axis);
  }
  const auto widened = [&](const Value& value) { return to.cast(to.tensor(value), value.dtype(), kind.dtype); };
  const std::string x =
      surrounded(kind, widened(node.inputs[0]), node.inputs[0].shape().with_dtype(kind.dtype), true, to);
  const std::string read = to.slice(x, std::vector<Extent>(axes.size(), 0), {split.begin() + 3, split.end()}, axes,
                                    std::vector<int64_t>(axes.size(), 1));
  return {to.reshape(read, split), to.reshape(widened(node.inputs[1]), kernel)};
}

/// The sum over the kernel's places of a slice of x times the weights there.
std::string unrolled(const Conv& kind, const Node& node, OnnxWriter& to) {
  const Dtype dtype = kind.dtype;
  const Shape& result = node.shapes[0];
  const Grouped operands = grouped(kind, node, to);
  std::vector<int64_t> sizes;
  std::vector<int64_t> axes;
  for (int axis = 2; axis < result.rank(); ++axis) {
    const auto size = node.inputs[1].extent(axis).constant();
    if (!size) {
      fail("a convolution of {} has no ONNX form when its kernel's size is not known", name(dtype));
    }
    sizes.push_back(*size);
    axes.push_back(axis + 1);  // behind the groups
  }
  const std::string letters = std::string("stuvwxyz").substr(0, axes.size());
  const OnnxAttributes equation{{"equation", fmt::format("ngc{0},goc->ngo{0}", letters)}};
  const std::vector<int64_t> ones(axes.size(), 1);
  std::string sum;
  for (const std::vector<int64_t>& offsets : places_of(sizes)) {
    std::vector<Extent> starts;
    std::vector<Extent> ends;
    std::vector<Extent> next;
    for (size_t i = 0; i < offsets.size(); ++i) {
      next.emplace_back(offsets[i] + 1);
      starts.emplace_back(offsets[i] * kind.w_dilation[i]);
      ends.push_back(starts.back() + (result.extent(static_cast<int>(i) + 2) - 1) * kind.stride[i] + 1);
    }
    const std::string part = to.slice(operands.x, starts, ends, axes, kind.stride);
    const std::string weight =
        to.squeeze(to.slice(operands.w, {offsets.begin(), offsets.end()}, next, axes, ones), axes);
    const std::string product = to.typed("Einsum", {part, weight}, dtype, equation);
    sum = sum.empty() ? product : to.typed("Add", {sum, product}, dtype);
  }
  return to.reshape(sum, extents_of(result.axes()));
}

/// What ConvTranspose is told of a convolution over gaps: pads, low ones first, and what is added behind.
struct Transposed {
  std::vector<int64_t> pads, more;
};

/// Nothing where there are no gaps, or ConvTranspose cannot say it.
std::optional<Transposed> as_transposed(const Conv& kind, const Shape& weights) {
  const auto is_one = [](int64_t step) { return step == 1; };
  if (std::ranges::all_of(kind.x_dilation, is_one) || !std::ranges::all_of(kind.stride, is_one)) {
    return std::nullopt;
  }
  Transposed result;
  std::vector<int64_t> high;
  for (size_t i = 0; i < kind.stride.size(); ++i) {
    const Extent reach = (weights.extent(static_cast<int>(i) + 2) - 1) * kind.w_dilation[i];
    const auto before = (reach - kind.low[i]).constant();
    const auto behind = (reach - kind.high[i]).constant();
    if (!before || !behind || *before < 0 || -*behind >= kind.x_dilation[i]) {
      return std::nullopt;
    }
    result.pads.push_back(*before);
    high.push_back(std::max<int64_t>(0, *behind));
    result.more.push_back(std::max<int64_t>(0, -*behind));
  }
  result.pads.insert(result.pads.end(), high.begin(), high.end());
  return result;
}

/// The weights as ConvTranspose has them: channels first, and the other way round.
std::string transposed_weights(const Conv& kind, const std::string& w, const Shape& shape, OnnxWriter& to) {
  const Extent outputs = *divide_exactly(shape.extent(0), kind.groups);
  std::vector<Extent> split{kind.groups, outputs, shape.extent(1)};
  std::vector<Extent> joint{shape.extent(1) * kind.groups, outputs};
  std::vector<int> order{0, 2, 1};
  std::vector<int64_t> axes;
  for (int axis = 2; axis < shape.rank(); ++axis) {
    split.push_back(shape.extent(axis));
    joint.push_back(shape.extent(axis));
    order.push_back(axis + 1);
    axes.push_back(axis);
  }
  const std::string turned = to.reshape(to.transpose(to.reshape(w, split), order), joint);
  const std::vector<Extent> starts(axes.size(), -1);
  const std::vector<Extent> ends(axes.size(), std::numeric_limits<int64_t>::min());
  return to.slice(turned, starts, ends, axes, std::vector<int64_t>(axes.size(), -1));
}

}  // namespace

OnnxTensors write_onnx(const Conv& kind, const Node& node, OnnxWriter& to) {
  const Dtype dtype = node.inputs[0].dtype();
  if (kind.stride.empty()) {
    fail("a convolution without positions has no ONNX form");
  }
  if (!is_float(dtype)) {
    return {unrolled(kind, node, to)};
  }
  const Dtype carrier = to.carrier("Conv", dtype);
  const std::string w = to.cast(to.tensor(node.inputs[1]), dtype, carrier);
  if (const auto transposed = as_transposed(kind, node.inputs[1].shape())) {
    const std::string x = to.cast(to.tensor(node.inputs[0]), dtype, carrier);
    const std::string result = to.node("ConvTranspose", {x, transposed_weights(kind, w, node.inputs[1].shape(), to)},
                                       {{"strides", kind.x_dilation},
                                        {"dilations", kind.w_dilation},
                                        {"pads", transposed->pads},
                                        {"output_padding", transposed->more},
                                        {"group", int64_t{kind.groups}}});
    return {to.cast(result, carrier, kind.dtype)};
  }
  const auto plain = [](const Extent& amount) { return amount.constant().value_or(-1) >= 0; };
  const bool simple = std::ranges::all_of(kind.low, plain) && std::ranges::all_of(kind.high, plain);
  std::vector<int64_t> pads;
  for (const auto* side : {&kind.low, &kind.high}) {
    for (const Extent& amount : *side) {
      pads.push_back(simple ? *amount.constant() : 0);
    }
  }
  const Shape shape = node.inputs[0].shape().with_dtype(carrier);
  const std::string x = surrounded(kind, to.cast(to.tensor(node.inputs[0]), dtype, carrier), shape, !simple, to);
  const std::string result = to.node(
      "Conv", {x, w},
      {{"strides", kind.stride}, {"dilations", kind.w_dilation}, {"pads", pads}, {"group", int64_t{kind.groups}}});
  return {to.cast(result, carrier, kind.dtype)};
}

}  // namespace tenon::exporter
