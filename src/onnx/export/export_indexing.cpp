// Gather, scatter, and updates through views.
#include <algorithm>

#include "base/fail.h"
#include "onnx/export/export_writer.h"
#include "ops/axes.h"
#include "ops/infer.h"

namespace tenon::exporter {
namespace {

/// The axes of x in the order batch, indexed, others; and of an index in the order batch, others.
struct Orders {
  std::vector<int> x, index;
};

template <class Kind>
Orders orders_of(const Kind& kind, int x_rank, int index_rank) {
  Orders orders{kind.x_batch, kind.index_batch};
  orders.x.insert(orders.x.end(), kind.axes.begin(), kind.axes.end());
  for (int i = 0; i < x_rank; ++i) {
    if (std::ranges::find(orders.x, i) == orders.x.end()) {
      orders.x.push_back(i);
    }
  }
  for (int i = 0; i < index_rank; ++i) {
    if (std::ranges::find(kind.index_batch, i) == kind.index_batch.end()) {
      orders.index.push_back(i);
    }
  }
  return orders;
}

/// Positions of i64, which is what ONNX counts from the end where they are negative: those of u64 never are.
std::string signed_positions(const Value& index, OnnxWriter& to) {
  const std::string& given = to.tensor(index);
  const bool may_wrap = index.dtype() == Dtype::u64;
  return to.cast(may_wrap ? to.node("Min", {given, to.scalar(Dtype::u64, 0x1p62)}) : given, index.dtype(), i64);
}

/// All indices as one tensor with a last axis of their number, batch axes first.
std::string stacked(const Node& node, size_t first, const std::vector<int>& order, OnnxWriter& to) {
  std::vector<std::string> parts;
  for (size_t i = first; i < node.inputs.size(); ++i) {
    const std::string index = signed_positions(node.inputs[i], to);
    parts.push_back(to.unsqueeze(to.transpose(index, order), {node.inputs[i].rank()}));
  }
  return parts.size() == 1 ? parts[0] : to.node("Concat", parts, {{"axis", int64_t{-1}}});
}

std::vector<int> inverse(const std::vector<int>& order) {
  std::vector<int> result(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    result[static_cast<size_t>(order[i])] = static_cast<int>(i);
  }
  return result;
}

std::string range(const Extent& length, OnnxWriter& to, const Extent& start = 0) {
  return to.node("Range", {to.scalar_size(start), to.scalar_size(start + length), to.scalar_size(1)});
}

/// Positions along the batch axes before the indices: scatter has no batch axes in ONNX.
std::string with_batch_positions(const std::string& indices, const Shape& index, const std::vector<int>& order,
                                 size_t batch, OnnxWriter& to) {
  std::vector<Axis> axes;
  for (const int axis : order) {
    axes.push_back(index.axis(axis));
  }
  axes.emplace_back(1);
  const Shape shape(i64, axes);
  std::vector<std::string> parts;
  for (size_t b = 0; b < batch; ++b) {
    std::vector<int64_t> behind;
    for (size_t i = b + 1; i < axes.size(); ++i) {
      behind.push_back(static_cast<int64_t>(i - b));
    }
    parts.push_back(to.expand(to.unsqueeze(range(axes[b].extent(), to), behind), shape));
  }
  parts.push_back(indices);
  return parts.size() == 1 ? indices : to.node("Concat", parts, {{"axis", int64_t{-1}}});
}

/// The path where it is one slice of neighbours.
const Slice* plain_slice(const Update& kind) {
  const auto* slice = kind.path.size() == 1 ? std::get_if<Slice>(&kind.path[0]) : nullptr;
  const auto is_one = [](int64_t step) { return step == 1; };
  return slice != nullptr && std::ranges::all_of(slice->step, is_one) ? slice : nullptr;
}

/// The axes along which a slice does not see all of the base.
std::vector<int> cut_axes(const Slice& slice, const Shape& base) {
  std::vector<int> axes;
  for (int i = 0; i < base.rank(); ++i) {
    const auto at = static_cast<size_t>(i);
    if (slice.start[at] != Extent(0) || slice.size[at] != base.extent(i)) {
      axes.push_back(i);
    }
  }
  return axes;
}

/// The positions that a slice sees along the first `count` axes, [place..., axis].
std::string slice_positions(const Slice& slice, int count, OnnxWriter& to) {
  std::vector<Axis> axes;
  for (int i = 0; i < count; ++i) {
    axes.emplace_back(slice.size[static_cast<size_t>(i)]);
  }
  axes.emplace_back(1);
  std::vector<std::string> parts;
  for (int i = 0; i < count; ++i) {
    std::vector<int64_t> behind;
    for (int64_t j = i + 1; j <= count; ++j) {
      behind.push_back(j - i);
    }
    const auto at = static_cast<size_t>(i);
    parts.push_back(to.expand(to.unsqueeze(range(slice.size[at], to, slice.start[at]), behind), Shape(i64, axes)));
  }
  return parts.size() == 1 ? parts[0] : to.node("Concat", parts, {{"axis", int64_t{-1}}});
}

}  // namespace

OnnxTensors write_onnx(const Gather& kind, const Node& node, OnnxWriter& to) {
  const Value& x = node.inputs[0];
  const Value& index = node.inputs[1];
  const Orders orders = orders_of(kind, x.rank(), index.rank());
  const std::string source = to.transpose(to.tensor(x), orders.x);
  if (kind.axes.size() == 1 && kind.x_batch.empty()) {
    return {to.node("Gather", {source, signed_positions(index, to)}, {{"axis", int64_t{0}}})};
  }
  return {to.node("GatherND", {source, stacked(node, 1, orders.index, to)},
                  {{"batch_dims", static_cast<int64_t>(kind.x_batch.size())}})};
}

OnnxTensors write_onnx(const Scatter& kind, const Node& node, OnnxWriter& to) {
  constexpr std::string_view reductions[] = {"none", "add", "mul", "max", "min"};
  const auto reduction = reductions[static_cast<size_t>(kind.op)];
  constexpr int extrema_since = 18;
  if ((reduction == "max" || reduction == "min") && to.opset() < extrema_since) {
    to.refuse(fmt::format("a scatter by {}", reduction), extrema_since);
  }
  const Value& x = node.inputs[0];
  const Value& index = node.inputs[2];
  const Orders orders = orders_of(kind, x.rank(), index.rank());
  const std::string positions =
      with_batch_positions(stacked(node, 2, orders.index, to), index.shape(), orders.index, kind.x_batch.size(), to);
  const std::string result =
      to.node("ScatterND", {to.transpose(to.tensor(x), orders.x), positions, to.tensor(node.inputs[1])},
              {{"reduction", std::string(reduction)}});
  return {to.transpose(result, inverse(orders.x))};
}

OnnxTensors write_onnx(const Update& kind, const Node& node, OnnxWriter& to) {
  const std::string& base = to.tensor(node.inputs[0]);
  const std::string& value = to.tensor(node.inputs[1]);
  const Shape& shape = node.shapes[0];
  const Slice* slice = plain_slice(kind);
  const std::vector<int> cut = slice == nullptr ? std::vector<int>() : cut_axes(*slice, shape);
  if (!cut.empty() && cut.back() + 1 < shape.rank()) {
    return {to.node("ScatterND", {base, slice_positions(*slice, cut.back() + 1, to), value})};
  }
  if (cut.size() == 1) {  // the last: a position for each element would be much
    const int axis = cut[0];
    const auto at = static_cast<size_t>(axis);
    const std::string before = to.slice(base, {0}, {slice->start[at]}, {axis}, {1});
    const std::string behind = to.slice(base, {slice->start[at] + slice->size[at]}, {shape.extent(axis)}, {axis}, {1});
    return {to.node("Concat", {before, value, behind}, {{"axis", int64_t{axis}}})};
  }
  // Any path: look at the elements' positions through it, and write there.
  Shape seen = shape.with_dtype(i64);
  std::string positions = to.reshape(range(shape.element_count(), to), extents_of(shape.axes()));
  for (const View& view : kind.path) {
    positions = write_view(view, positions, seen, to);
    seen = infer_view(view, seen).shapes[0];
  }
  const std::string everything = to.ints({-1});
  const auto flat = [&](const std::string& x) { return to.node("Reshape", {x, everything}); };
  const std::string written =
      to.node("ScatterElements", {flat(base), flat(positions), flat(value)}, {{"axis", int64_t{0}}});
  return {to.reshape(written, extents_of(shape.axes()))};
}

OnnxTensors write_onnx(const Positions& kind, const Node& node, OnnxWriter& to) {
  if (kind.axis.is_anonymous()) {
    fail("ONNX has no positions with room for more");
  }
  const std::string line = to.node("Reshape", {to.tensor(node.inputs[0]), to.ints({-1})});
  const std::string found = to.squeeze(to.node("NonZero", {line}), {0});
  return {found, to.squeeze(to.node("Shape", {found}), {0})};
}

}  // namespace tenon::exporter
