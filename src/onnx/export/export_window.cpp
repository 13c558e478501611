// Sliding windows: pooling where ONNX has it, else one strided slice for each place in the window.
#include <algorithm>
#include <numeric>

#include "onnx/export/export_places.h"
#include "onnx/export/export_writer.h"

namespace tenon::exporter {
namespace {

bool slides(const Window& kind, size_t axis) {
  return kind.size[axis] != 1 || kind.stride[axis] != 1 || kind.low[axis] != Extent(0) || kind.high[axis] != Extent(0);
}

/// Padding that an attribute can hold: known and not negative.
bool has_plain_padding(const Window& kind) {
  const auto plain = [](const Extent& amount) { return amount.constant().value_or(-1) >= 0; };
  return std::ranges::all_of(kind.low, plain) && std::ranges::all_of(kind.high, plain);
}

/// The window's lists from axis `first` on, as attributes of a pool.
OnnxAttributes pool_attributes(const Window& kind, size_t first, bool padded) {
  const auto tail = [&](const std::vector<int64_t>& list) {
    return std::vector<int64_t>(list.begin() + static_cast<std::ptrdiff_t>(first), list.end());
  };
  std::vector<int64_t> pads;
  for (const auto* side : {&kind.low, &kind.high}) {
    for (size_t i = first; i < side->size(); ++i) {
      pads.push_back(padded ? *(*side)[i].constant() : 0);
    }
  }
  return {{"kernel_shape", tail(kind.size)}, {"strides", tail(kind.stride)}, {"pads", pads}};
}

/// MaxPool, or AveragePool times the window's size, over x with two leading axes that do not slide.
std::string pool(const Window& kind, const std::string& x, Dtype dtype, OnnxWriter& to) {
  const bool two_still = kind.size.size() > 2 && !slides(kind, 0) && !slides(kind, 1);
  const size_t first = two_still ? 2 : 0;
  std::string in = two_still ? x : to.unsqueeze(x, {0, 1});
  OnnxAttributes attributes = pool_attributes(kind, first, true);
  if (kind.op == ReduceOp::sum) {
    attributes.push_back({"count_include_pad", int64_t{1}});
    int64_t places = 1;
    for (const int64_t size : kind.size) {
      places *= size;
    }
    in = to.typed("AveragePool", {in}, dtype, attributes);
    in = to.node("Mul", {in, to.scalar(dtype, static_cast<double>(places))});
  } else {
    attributes.push_back({"dilations", std::vector<int64_t>(kind.dilation.begin() + static_cast<std::ptrdiff_t>(first),
                                                            kind.dilation.end())});
    in = to.typed("MaxPool", {in}, dtype, attributes);
  }
  return two_still ? in : to.squeeze(in, {0, 1});
}

/// Every place in the window as a slice of the padded operand.
std::string unrolled(const Window& kind, const std::string& x, const Shape& from, const Shape& shape, OnnxWriter& to) {
  const Dtype dtype = shape.dtype();
  const std::string padded = to.pad(x, from, kind.low, kind.high, Array::scalar(dtype, onnx_identity(kind.op, dtype)));
  std::vector<int64_t> axes(kind.size.size());
  std::iota(axes.begin(), axes.end(), 0);
  constexpr std::string_view operators[] = {"Add", "Mul", "Max", "Min"};
  std::string result;
  for (const std::vector<int64_t>& offsets : places_of(kind.size)) {
    std::vector<Extent> starts;
    std::vector<Extent> ends;
    for (size_t i = 0; i < offsets.size(); ++i) {
      starts.emplace_back(offsets[i] * kind.dilation[i]);
      ends.push_back(starts.back() + (shape.extent(static_cast<int>(i)) - 1) * kind.stride[i] + 1);
    }
    const std::string part = to.slice(padded, starts, ends, axes, kind.stride);
    result = result.empty() ? part : to.typed(operators[static_cast<size_t>(kind.op)], {result, part}, dtype);
  }
  return result;
}

}  // namespace

OnnxTensors write_onnx(const Window& kind, const Node& node, OnnxWriter& to) {
  const std::string& x = to.tensor(node.inputs[0]);
  const Dtype dtype = node.inputs[0].dtype();
  const bool dense = std::ranges::all_of(kind.dilation, [](int64_t d) { return d == 1; });
  const bool pools = is_float(dtype) && has_plain_padding(kind) && !kind.size.empty() &&
                     (kind.op == ReduceOp::max || (kind.op == ReduceOp::sum && dense));
  return {pools ? pool(kind, x, dtype, to) : unrolled(kind, x, node.inputs[0].shape(), node.shapes[0], to)};
}

}  // namespace tenon::exporter
