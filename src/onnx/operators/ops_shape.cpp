// Operators that ask for shapes and rearrange elements.
#include <algorithm>
#include <limits>

#include "base/refused.h"
#include "onnx/import/few_bits_source.h"
#include "onnx/import/registry.h"
#include "onnx/import/squeezed_axes.h"
#include "onnx/operators/quantised_product.h"
#include "ops/axes.h"
#include "tenon/indexing.h"

namespace tenon::importer {
namespace {

constexpr int64_t kFarAway = std::numeric_limits<int32_t>::max();

/// Whole numbers from an operand or, before they became one, from an attribute; empty when there is neither.
std::vector<int64_t> list_of(const NodeCall& call, std::string_view attribute, size_t operand, int since) {
  if (call.version() < since) {
    return call.list_attribute(attribute);
  }
  return call.has(operand) ? call.integers(operand) : std::vector<int64_t>();
}

Value shape_value(const std::vector<Extent>& extents) {
  if (extents.empty()) {
    return constant(Array(Dtype::i64, {0}));
  }
  if (std::ranges::all_of(extents, &Extent::is_constant)) {
    std::vector<int64_t> sizes;
    for (const Extent& extent : extents) {
      sizes.push_back(*extent.constant());
    }
    return constant(Array::from({static_cast<int64_t>(sizes.size())}, sizes));
  }
  std::vector<Value> elements;
  for (const Extent& extent : extents) {
    elements.push_back(expand_dims(extent_value(extent), {0}));
  }
  return concat(elements, 0);
}

Results shape_of(const NodeCall& call) {
  const Value& x = call.x(0);
  const int64_t rank = x.rank();
  const auto clamped = [&](std::string_view name, int64_t otherwise) {
    const int64_t at = call.attribute(name, otherwise);
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  std::vector<Extent> extents;
  for (int64_t i = clamped("start", 0); i < clamped("end", rank); ++i) {
    extents.push_back(x.extent(static_cast<int>(i)));
  }
  return shape_value(extents);
}

Results size_of(const NodeCall& call) { return extent_value(call.x(0).shape().element_count()); }

Results reshape_to(const NodeCall& call, const std::vector<Extent>& wanted) {
  const Value& x = call.x(0);
  std::vector<Axis> to;
  for (const Extent& extent : wanted) {
    const int position = static_cast<int>(to.size());
    if (extent == Extent(-1)) {
      to.push_back(Axis::anonymous());
    } else if (extent == Extent(0) && !call.flag("allowzero")) {
      to.push_back(x.shape().axis(position));
    } else {
      to.emplace_back(extent);
    }
  }
  return reshape(x, to);
}

Results reshape_by_attribute(const NodeCall& call) {
  const std::vector<int64_t> shape = call.list_attribute("shape");
  return reshape_to(call, {shape.begin(), shape.end()});
}

Results reshape_by_operand(const NodeCall& call) { return reshape_to(call, call.extents(1)); }

Results flatten(const NodeCall& call) {
  const Value& x = call.x(0);
  int axis = call.axis("axis", 1);
  axis += axis < 0 ? x.rank() : 0;
  if (axis < 0 || axis > x.rank()) {
    refuse("axis is {}, the input has {}", axis, x.rank());
  }
  Extent before = 1;
  Extent behind = 1;
  for (int i = 0; i < x.rank(); ++i) {
    (i < axis ? before : behind) *= x.extent(i);
  }
  return reshape(x, {before, behind});
}

Results squeeze_axes(const NodeCall& call) {
  const Value& x = call.x(0);
  Axes axes = to_axes(list_of(call, "axes", 1, 13));
  if (axes.empty() && !(call.version() >= 13 && call.has(1))) {
    axes = squeezed_axes(call, x);
  }
  return axes.empty() ? x : squeeze(x, axes);
}

Results unsqueeze(const NodeCall& call) {
  const Axes axes = to_axes(list_of(call, "axes", 1, 13));
  return axes.empty() ? call.x(0) : expand_dims(call.x(0), axes);
}

Results transpose_axes(const NodeCall& call) {
  Item result(transpose(call.x(0), to_axes(call.list_attribute("perm"))));
  const std::vector<int64_t> order = call.list_attribute("perm");
  if (call.item(0).few_bits && (order.empty() || order == std::vector<int64_t>{1, 0})) {
    result.few_bits = call.item(0).few_bits->transposed();
  }
  return result;
}

Results expand(const NodeCall& call) {
  const Value& x = call.x(0);
  return broadcast_to(x, broadcast_lists({x.shape().axes(), to_shape_axes(call.extents(1))}));
}

Results tile_old(const NodeCall& call) {
  std::vector<Extent> repeats(static_cast<size_t>(call.x(0).rank()), 1);
  repeats[static_cast<size_t>(call.x(0).shape().normalize_axis(static_cast<int>(call.integer(2))))] = call.extent(1);
  return tile(call.x(0), repeats);
}

Results tile_by(const NodeCall& call) { return tile(call.x(0), call.extents(1)); }

Results concat_values(const NodeCall& call) {
  const std::vector<Value> values = call.tensors();
  return values.size() == 1 ? values[0] : concat(values, call.axis("axis", 1));
}

std::vector<Extent> even_sizes(const Extent& size, int64_t parts) {
  constexpr int64_t most_parts = 65536;
  if (parts < 1 || parts > most_parts) {
    refuse("{} parts are asked for", parts);
  }
  const Extent each = ceildiv(size, parts);
  std::vector<Extent> sizes(static_cast<size_t>(parts), each);
  sizes.back() = size - each * (parts - 1);
  return sizes;
}

Results split_axis(const NodeCall& call) {
  const Value& x = call.x(0);
  const int axis = x.shape().normalize_axis(call.axis("axis", 0));
  std::vector<Extent> sizes;
  if (call.version() >= 13 || (call.version() < 2 && call.has(1))) {
    sizes = call.has(1) ? call.extents(1) : sizes;
  } else {
    const std::vector<int64_t> given = call.list_attribute("split");
    sizes.assign(given.begin(), given.end());
  }
  const auto parts = static_cast<int64_t>(call.result_count());
  if (const int64_t said = call.attribute("num_outputs", parts); said != parts) {
    refuse("num_outputs is {}, but the node has {} outputs", said, parts);
  }
  if (!sizes.empty()) {
    if (std::ssize(sizes) != parts) {
      refuse("{} sizes are given for {} outputs", sizes.size(), parts);
    }
    return split(x, axis, sizes);
  }
  return x.extent(axis).is_constant() ? split(x, axis, even_sizes(x.extent(axis), parts))
                                      : split_evenly(x, axis, parts);
}

/// Ends beyond any size mean "to the end". Unlike in Python, a walk backwards that starts before the first element
/// starts at it.
Value slice_one(const Value& x, int axis, Extent begin, const Extent& end, int64_t step) {
  std::optional<Extent> stop = end;
  if (const std::optional<int64_t> number = end.constant()) {
    const bool is_far = step > 0 ? *number >= kFarAway : *number <= -kFarAway;
    stop = is_far ? std::nullopt : stop;
  }
  if (const std::optional<int64_t> number = begin.constant(); number && step < 0 && *number >= kFarAway) {
    begin = -1;
  } else if (number && step > 0 && *number <= -kFarAway) {
    begin = 0;
  } else if (number && step < 0 && *number < -1 && !proves_at_least(x.extent(axis), -*number)) {
    begin = *number <= -kFarAway ? Extent(0) : simplify(max(x.extent(axis) + *number, 0));
  }
  return slice_axis(x, axis, begin, stop, step);
}

struct SliceLists {
  std::vector<Extent> begin, end;
  std::vector<int64_t> axes, steps;
};

Value slice_by(Value x, SliceLists lists) {
  if (lists.axes.empty()) {
    for (size_t i = 0; i < lists.begin.size(); ++i) {
      lists.axes.push_back(static_cast<int64_t>(i));
    }
  }
  lists.steps.resize(lists.steps.empty() ? lists.axes.size() : lists.steps.size(), 1);
  if (lists.begin.size() != lists.axes.size() || lists.end.size() != lists.axes.size() ||
      lists.steps.size() != lists.axes.size()) {
    refuse("{} starts, {} ends, {} axes and {} steps are given", lists.begin.size(), lists.end.size(),
           lists.axes.size(), lists.steps.size());
  }
  const Axes axes = to_axes(lists.axes);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (lists.steps[i] == 0) {
      refuse("a step is 0");
    }
    x = slice_one(x, x.shape().normalize_axis(axes[i]), lists.begin[i], lists.end[i], lists.steps[i]);
  }
  return x;
}

Results slice_attributes(const NodeCall& call) {
  const std::vector<int64_t> begin = call.list_attribute("starts");
  const std::vector<int64_t> end = call.list_attribute("ends");
  return slice_by(call.x(0), {.begin = {begin.begin(), begin.end()},
                              .end = {end.begin(), end.end()},
                              .axes = call.list_attribute("axes"),
                              .steps = {}});
}

Results slice_operands(const NodeCall& call) {
  return slice_by(call.x(0), {.begin = call.extents(1),
                              .end = call.extents(2),
                              .axes = call.has(3) ? call.integers(3) : std::vector<int64_t>(),
                              .steps = call.has(4) ? call.integers(4) : std::vector<int64_t>()});
}

/// Padding whose sign is not known yet: what is below 0 crops first, what is left is never below 0.
Value cropped(Value x, std::vector<Extent>& low, std::vector<Extent>& high) {
  for (int axis = 0; axis < x.rank(); ++axis) {
    Extent& before = low[static_cast<size_t>(axis)];
    Extent& behind = high[static_cast<size_t>(axis)];
    const auto may_crop = [](const Extent& amount) { return !amount.is_constant() && !proves_at_least(amount, 0); };
    if (!may_crop(before) && !may_crop(behind)) {
      continue;
    }
    const Extent first = simplify(max(-before, 0));
    const Extent last = simplify(x.extent(axis) - max(-behind, 0));
    x = slice_axis(x, axis, first, last);
    before = simplify(max(before, 0));
    behind = simplify(max(behind, 0));
  }
  return x;
}

/// `pads` has the starts of all axes, then the ends.
Value pad_by(const Value& x, const std::vector<Extent>& pads, const Axes& axes, const std::string& mode,
             const Operand& fill) {
  if (pads.size() != 2 * axes.size()) {
    refuse("{} pads are given for {} axes", pads.size(), axes.size());
  }
  std::vector<Extent> low(static_cast<size_t>(x.rank()), 0);
  std::vector<Extent> high = low;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(x.shape().normalize_axis(axes[i]));
    low[axis] = pads[i];
    high[axis] = pads[i + axes.size()];
  }
  const Value kept = cropped(x, low, high);
  if (fill.value() == nullptr) {
    return pad(kept, low, high, mode, fill.number());
  }
  const Value inside = full(kept.shape().with_dtype(Dtype::boolean), 1);
  return select(pad(inside, low, high), pad(kept, low, high), *fill.value());
}

Results pad_attributes(const NodeCall& call) {
  const std::vector<int64_t> pads = call.list_attribute(call.has_attribute("paddings") ? "paddings" : "pads");
  return pad_by(call.x(0), {pads.begin(), pads.end()}, all_axes(call.x(0)), call.text_attribute("mode", "constant"),
                call.number_attribute("value", 0));
}

Results pad_operands(const NodeCall& call) {
  const Value& x = call.x(0);
  const Axes axes = call.has(3) ? to_axes(call.integers(3)) : all_axes(x);
  Operand fill = 0.0;
  if (call.has(2)) {
    const Value value = call.x(2).rank() == 0 ? call.x(2) : reshape(call.x(2), {});
    const std::optional<Array> known = call.known_array(value);
    fill = known ? Operand(known->at(0)) : Operand(value);
  }
  return pad_by(x, call.extents(1), axes, call.text_attribute("mode", "constant"), fill);
}

Results depth_to_space(const NodeCall& call) {
  const Value& x = call.x(0);
  const int64_t block = call.count_attribute("blocksize");
  const Extent depth = floordiv(x.extent(1), block * block);
  const Axis& n = x.shape().axis(0);
  const Axis& h = x.shape().axis(2);
  const Axis& w = x.shape().axis(3);
  const bool by_column = call.text_attribute("mode", "DCR") == "CRD";
  const Value parts = by_column ? transpose(reshape(x, {n, depth, block, block, h, w}), {0, 1, 4, 2, 5, 3})
                                : transpose(reshape(x, {n, block, block, depth, h, w}), {0, 3, 4, 1, 5, 2});
  return reshape(parts, {n, depth, x.extent(2) * block, x.extent(3) * block});
}

Results space_to_depth(const NodeCall& call) {
  const Value& x = call.x(0);
  const int64_t block = call.count_attribute("blocksize");
  const Axis& n = x.shape().axis(0);
  const Extent h = floordiv(x.extent(2), block);
  const Extent w = floordiv(x.extent(3), block);
  const Value blocks = reshape(x, {n, x.extent(1), h, block, w, block});
  const bool by_column = call.text_attribute("mode", "DCR") == "CRD";
  const Value parts = transpose(blocks, by_column ? Axes{0, 1, 3, 5, 2, 4} : Axes{0, 3, 5, 1, 2, 4});
  return reshape(parts, {n, x.extent(1) * (block * block), h, w});
}

Results center_crop_pad(const NodeCall& call) {
  Value x = call.x(0);
  const std::vector<Extent> wanted = call.extents(1);
  Axes axes = to_axes(call.list_attribute("axes"));
  axes = axes.empty() ? all_axes(x) : axes;
  if (wanted.size() != axes.size()) {
    refuse("{} sizes are given for {} axes", wanted.size(), axes.size());
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    const int axis = x.shape().normalize_axis(axes[i]);
    const Extent have = x.extent(axis);
    const Extent cut = max(have - wanted[i], 0);
    const Extent begin = floordiv(cut, 2);
    x = slice_axis(x, axis, begin, begin + min(have, wanted[i]));
    const Extent add = max(wanted[i] - have, 0);
    const Extent low = floordiv(add, 2);
    x = pad_by(x, {low, add - low}, {axis}, "constant", 0.0);
  }
  return x;
}

}  // namespace

std::vector<OperatorEntry> shape_operators() {
  return {
      {"", "Shape", 1, shape_of, ElementUse::any},
      {"", "Size", 1, size_of, ElementUse::any},
      {"", "Reshape", 1, reshape_by_attribute, ElementUse::first_moved},
      {"", "Reshape", 5, reshape_by_operand, ElementUse::first_moved},
      {"", "Flatten", 1, flatten, ElementUse::first_moved},
      {"", "Squeeze", 1, squeeze_axes, ElementUse::first_moved},
      {"", "Unsqueeze", 1, unsqueeze, ElementUse::first_moved},
      {"", "Transpose", 1, transpose_axes, ElementUse::first_moved},
      {"", "Expand", 8, expand, ElementUse::first_moved},
      {"", "Tile", 1, tile_old, ElementUse::first_moved},
      {"", "Tile", 6, tile_by, ElementUse::first_moved},
      {"", "Concat", 1, concat_values, ElementUse::moved},
      {"", "Split", 1, split_axis, ElementUse::first_moved},
      {"", "Slice", 1, slice_attributes, ElementUse::first_moved},
      {"", "Slice", 10, slice_operands, ElementUse::first_moved},
      {"", "Pad", 1, pad_attributes},
      {"", "Pad", 11, pad_operands},
      {"", "DepthToSpace", 1, depth_to_space, ElementUse::first_moved},
      {"", "SpaceToDepth", 1, space_to_depth, ElementUse::first_moved},
      {"", "CenterCropPad", 18, center_crop_pad},
  };
}

}  // namespace tenon::importer
