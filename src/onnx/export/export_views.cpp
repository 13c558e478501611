// The six views, and concatenation.
#include <algorithm>
#include <limits>
#include <numeric>

#include "base/fail.h"
#include "onnx/export/export_writer.h"
#include "ops/axes.h"

namespace tenon::exporter {
namespace {

std::string write(const Reshape& view, const std::string& x, const Shape& /*from*/, OnnxWriter& to) {
  return to.reshape(x, extents_of(view.to));
}

std::string write(const Transpose& view, const std::string& x, const Shape& /*from*/, OnnxWriter& to) {
  return to.transpose(x, view.axes);
}

std::string write(const Slice& view, const std::string& x, const Shape& from, OnnxWriter& to) {
  std::vector<Extent> starts;
  std::vector<Extent> ends;
  std::vector<int64_t> axes;
  std::vector<int64_t> steps;
  for (int i = 0; i < from.rank(); ++i) {
    const auto at = static_cast<size_t>(i);
    if (view.start[at] == Extent(0) && view.step[at] == 1 && view.size[at] == from.extent(i)) {
      continue;
    }
    starts.push_back(view.start[at]);
    ends.push_back(view.start[at] + view.size[at] * view.step[at]);  // may lie beyond the last, which counts no more
    axes.push_back(i);
    steps.push_back(view.step[at]);
  }
  return to.slice(x, starts, ends, axes, steps);
}

/// The last `low` elements, all, the first `high`, along each axis.
std::string wrapped(const Pad& view, std::string x, const Shape& from, OnnxWriter& to) {
  for (int i = 0; i < from.rank(); ++i) {
    const Extent& low = view.low[static_cast<size_t>(i)];
    const Extent& high = view.high[static_cast<size_t>(i)];
    if (low == Extent(0) && high == Extent(0)) {
      continue;
    }
    const std::string before = to.slice(x, {from.extent(i) - low}, {from.extent(i)}, {i}, {1});
    const std::string behind = to.slice(x, {0}, {high}, {i}, {1});
    x = to.node("Concat", {before, x, behind}, {{"axis", int64_t{i}}});
  }
  return x;
}

std::string write(const Pad& view, const std::string& x, const Shape& from, OnnxWriter& to) {
  if (view.mode == PadMode::constant) {
    return to.pad(x, from, view.low, view.high, view.fill);
  }
  if (view.mode == PadMode::wrap) {
    return wrapped(view, x, from, to);
  }
  std::vector<Extent> amounts = view.low;
  amounts.insert(amounts.end(), view.high.begin(), view.high.end());
  return to.node("Pad", {x, to.sizes(amounts)},
                 {{"mode", std::string(spellings(view.mode)[static_cast<size_t>(view.mode)])}});
}

std::string write(const Flip& view, const std::string& x, const Shape& from, OnnxWriter& to) {
  std::vector<int64_t> axes;
  for (const int axis : view.axes) {
    if (from.extent(axis).constant().value_or(2) > 1) {
      axes.push_back(axis);
    }
  }
  const std::vector<Extent> starts(axes.size(), -1);
  const std::vector<Extent> ends(axes.size(), std::numeric_limits<int64_t>::min());
  return to.slice(x, starts, ends, axes, std::vector<int64_t>(axes.size(), -1));
}

std::string write(const Broadcast& /*view*/, const std::string& /*x*/, const Shape& /*from*/, OnnxWriter& /*to*/) {
  TENON_CHECK(false, "no path of an update holds a broadcast");
}

template <class View>
OnnxTensors write_node(const View& view, const Node& node, OnnxWriter& to) {
  return {write(view, to.tensor(node.inputs[0]), node.inputs[0].shape(), to)};
}

}  // namespace

std::string write_view(const View& view, const std::string& x, const Shape& from, OnnxWriter& to) {
  return std::visit([&](const auto& kind) { return write(kind, x, from, to); }, view);
}

OnnxTensors write_onnx(const Reshape& kind, const Node& node, OnnxWriter& to) { return write_node(kind, node, to); }
OnnxTensors write_onnx(const Transpose& kind, const Node& node, OnnxWriter& to) { return write_node(kind, node, to); }
OnnxTensors write_onnx(const Slice& kind, const Node& node, OnnxWriter& to) { return write_node(kind, node, to); }
OnnxTensors write_onnx(const Pad& kind, const Node& node, OnnxWriter& to) { return write_node(kind, node, to); }
OnnxTensors write_onnx(const Flip& kind, const Node& node, OnnxWriter& to) { return write_node(kind, node, to); }

OnnxTensors write_onnx(const Broadcast& kind, const Node& node, OnnxWriter& to) {
  const Value& operand = node.inputs[0];
  const Shape& shape = node.shapes[0];
  // Axes in the order of the result, then sizes of 1 for those that the operand has not; leading ones go without
  // saying.
  std::vector<int> order(kind.axes.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](int i) { return kind.axes[static_cast<size_t>(i)]; });
  const int first = kind.axes.empty() ? shape.rank() : *std::ranges::min_element(kind.axes);
  std::vector<int64_t> missing;
  for (int axis = first; axis < shape.rank(); ++axis) {
    if (std::ranges::find(kind.axes, axis) == kind.axes.end()) {
      missing.push_back(axis - first);
    }
  }
  // What the operand itself repeats may have no axis to move or to stand beside.
  const bool stays = missing.empty() && std::ranges::is_sorted(order);
  const std::string thin = stays ? to.thin(operand) : to.unsqueeze(to.transpose(to.tensor(operand), order), missing);
  to.define_thin(Value(&node, 0), thin);
  return {to.expand(thin, shape)};
}

OnnxTensors write_onnx(const Concat& kind, const Node& node, OnnxWriter& to) {
  std::vector<std::string> parts;
  for (const Value& operand : node.inputs) {
    parts.push_back(to.tensor(operand));
  }
  return {to.node("Concat", parts, {{"axis", int64_t{kind.axis}}})};
}

}  // namespace tenon::exporter
