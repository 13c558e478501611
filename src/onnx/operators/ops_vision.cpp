// Operators that sample pictures at positions that are values, and that put them together.
#include <fmt/ranges.h>

#include <algorithm>

#include "base/refused.h"
#include "onnx/import/registry.h"
#include "tenon/indexing.h"

namespace tenon::importer {
namespace {

/// A position along each axis of a picture but batch and channel: y, x or z, y, x.
using Point = std::vector<Value>;

/// Elements of x[batch, channel, size...] at points whose positions are [batch, point...]: [batch, point..., channel].
Value pick(const Value& picture, const Point& at) {
  std::vector<Value> indices;
  Axes axes;
  for (const Value& position : at) {
    axes.push_back(static_cast<int>(axes.size()) + 2);
    indices.push_back(cast(position, Dtype::i64));
  }
  return gather(picture, indices, {.axes = axes, .x_batch = {0}, .index_batch = {0}});
}

std::vector<int64_t> list_or(const NodeCall& call, std::string_view name, size_t count, int64_t otherwise) {
  std::vector<int64_t> list = call.list_attribute(name);
  list.resize(list.empty() ? count : list.size(), otherwise);
  if (list.size() != count || std::ranges::any_of(list, [&](int64_t number) { return number < otherwise; })) {
    refuse("{} is [{}] for {} axes", name, fmt::join(list, ", "), count);
  }
  return list;
}

/// How positions beyond the ends are read.
struct Sampler {
  Value picture;
  std::string padding;
  bool align_corners = false;

  Value size(int axis) const { return extent_value(picture.extent(axis), picture.dtype()); }

  /// From [-1, 1] to positions.
  Value to_position(const Value& at, int axis) const {
    return align_corners ? (at + 1) / 2 * (size(axis) - 1) : ((at + 1) * size(axis) - 1) / 2;
  }

  /// Mirrored at both ends until it is inside.
  Value reflected(const Value& at, int axis) const {
    const Value low = align_corners ? scalar(at.dtype(), 0) : scalar(at.dtype(), -0.5);
    const Value span = align_corners ? size(axis) - 1 : size(axis);
    const Value within = mod(at - low, span * 2);
    return select(gt(within, span), span * 2 - within, within) + low;
  }

  /// A position as it counts before it is rounded.
  Value bounded(const Value& at, int axis) const {
    if (padding == "border") {
      return clamp(at, 0, size(axis) - 1);
    }
    return padding == "reflection" ? clamp(reflected(at, axis), 0, size(axis) - 1) : at;
  }

  Point bounded(Point at) const {
    for (size_t i = 0; i < at.size(); ++i) {
      at[i] = bounded(at[i], static_cast<int>(i) + 2);
    }
    return at;
  }

  /// Elements at whole positions, which may lie outside.
  Value read(Point at) const {
    Value inside;
    for (size_t i = 0; i < at.size(); ++i) {
      const int axis = static_cast<int>(i) + 2;
      const Value position = padding == "reflection" ? reflected(at[i], axis) : at[i];
      at[i] = clamp(position, 0, size(axis) - 1);
      inside = inside ? logical_and(inside, eq(at[i], position)) : eq(at[i], position);
    }
    const Value read = pick(picture, at);
    return padding == "zeros" ? select(expand_dims(inside, {-1}), read, 0) : read;
  }
};

Value cubic_weight(const Value& distance) {
  constexpr double a = -0.75;
  const Value d = abs(distance);
  const Value near = ((d * (a + 2)) - (a + 3)) * d * d + 1;
  const Value far = ((d * a - 5 * a) * d + 8 * a) * d - 4 * a;
  return select(le(d, 1), near, far);
}

/// Sums over the neighbours of a point, `first` to `last` from its floor along each axis, weighted by their distance.
Value weighted(const Sampler& sampler, const Point& at, int first, int last, Value (*weight)(const Value&)) {
  const int width = last - first + 1;
  int count = 1;
  for (size_t i = 0; i < at.size(); ++i) {
    count *= width;
  }
  Value sum;
  for (int number = 0; number < count; ++number) {
    Point neighbour = at;
    Value factor;
    int rest = number;
    for (size_t i = at.size(); i-- > 0; rest /= width) {
      neighbour[i] = floor(at[i]) + (first + rest % width);
      const Value one = weight(neighbour[i] - at[i]);
      factor = factor ? one * factor : one;
    }
    const Value term = sampler.read(neighbour) * expand_dims(factor, {-1});
    sum = sum ? sum + term : term;
  }
  return sum;
}

Value linear_weight(const Value& distance) { return 1.0 - abs(distance); }

Results grid_sample(const NodeCall& call) {
  const Value& grid = call.x(1);
  const int rank = call.x(0).rank();
  if (rank < 3 || grid.rank() != rank || compare(grid.extent(-1), rank - 2) == Comparison::different) {
    refuse("a picture {} at points {} is not supported", call.x(0).shape().to_string(), grid.shape().to_string());
  }
  const Sampler sampler{.picture = call.x(0),
                        .padding = call.text_attribute("padding_mode", "zeros"),
                        .align_corners = call.flag("align_corners")};
  Point at;
  for (int axis = 2; axis < rank; ++axis) {
    const int64_t i = rank - 1 - axis;  // the last axis comes first
    const Value position = squeeze(slice_axis(grid, -1, i, i + 1), {-1});
    at.push_back(sampler.to_position(cast(position, sampler.picture.dtype()), axis));
  }
  const std::string mode = call.text_attribute("mode", "bilinear");
  Value result;
  if (mode == "nearest") {
    Point nearest = sampler.bounded(at);
    std::ranges::transform(nearest, nearest.begin(), [](const Value& position) { return round(position); });
    result = sampler.read(nearest);
  } else if (mode == "bilinear" || mode == "linear") {
    result = weighted(sampler, sampler.bounded(at), 0, 1, linear_weight);
  } else if (mode == "bicubic" || mode == "cubic") {
    result = weighted(sampler, at, -1, 2, cubic_weight);
  } else {
    refuse("mode is `{}`", mode);
  }
  Axes order = {0, rank - 1};
  for (int i = 1; i + 1 < rank; ++i) {
    order.push_back(i);
  }
  return transpose(result, order);
}

/// Convolution whose places are moved by offsets: what is read there, between neighbours, times the weights.
Results deformed_convolution(const NodeCall& call) {
  const Value& x = call.x(0);
  const Value& w = call.x(1);
  const Value& offsets = call.x(2);
  const std::optional<int64_t> rows = w.extent(2).constant();
  const std::optional<int64_t> columns = w.extent(3).constant();
  constexpr int64_t most = 1 << 12;
  if (!rows || !columns || *rows < 1 || *columns < 1 || *rows * *columns > most) {
    refuse("a kernel of {} by {} places is not supported", w.shape().axis(2).to_string(),
           w.shape().axis(3).to_string());
  }
  const std::vector<int64_t> strides = list_or(call, "strides", 2, 1);
  const std::vector<int64_t> dilations = list_or(call, "dilations", 2, 1);
  const std::vector<int64_t> pads = list_or(call, "pads", 4, 0);
  const int64_t groups = call.attribute("group", 1);
  const int64_t fields = call.attribute("offset_group", 1);  // groups of channels that move together
  if (groups < 1 || fields < 1) {
    refuse("{} groups and {} groups of offsets are not supported", groups, fields);
  }
  const int64_t places = *rows * *columns;
  const Extent& batch = x.extent(0);
  const std::vector<int64_t> kernel = {*rows, *columns};
  std::vector<Extent> size;
  for (size_t i = 0; i < 2; ++i) {
    const int axis = static_cast<int>(i) + 2;
    const Extent room = x.extent(axis) + pads[i] + pads[i + 2] - dilations[i] * (kernel[i] - 1) - 1;
    size.push_back(floordiv(room, strides[i]) + 1);
    call.require_equal(offsets.extent(axis), size.back());
  }
  call.require_equal(offsets.extent(1), Extent(fields * places * 2));
  call.require_equal(x.extent(1), w.extent(1) * groups);
  const Value moves = reshape(offsets, {batch * fields, places, 2, size[0], size[1]});
  const Shape grid(x.dtype(), {1, places, size[0], size[1]});
  Point at;
  for (size_t i = 0; i < 2; ++i) {
    std::vector<double> begin;  // of each place of the kernel
    for (int64_t place = 0; place < places; ++place) {
      const int64_t step = i == 0 ? place / *columns : place % *columns;
      begin.push_back(static_cast<double>(step * dilations[i] - pads[i]));
    }
    const Value first = reshape(cast(constant(Array::from<double>({places}, begin)), x.dtype()), {places, 1, 1});
    const Value still = iota(grid, static_cast<int>(i) + 2) * static_cast<double>(strides[i]) + first;
    const auto k = static_cast<int64_t>(i);
    at.push_back(still + squeeze(slice_axis(moves, 2, k, k + 1), {2}));
  }
  const Extent field = floordiv(x.extent(1), fields);
  const Sampler sampler{.picture = reshape(x, {batch * fields, field, x.extent(2), x.extent(3)}), .padding = "zeros"};
  Value read = weighted(sampler, at, 0, 1, linear_weight);  // [batch * fields, place, row, column, channel]
  if (call.has(4)) {
    call.require_equal(call.x(4).extent(1), Extent(fields * places));
    read = read * reshape(call.x(4), {batch * fields, places, size[0], size[1], 1});
  }
  const Value by_field = reshape(read, {batch, fields, places, size[0], size[1], field});
  const Value columns_of =
      reshape(transpose(by_field, {0, 3, 4, 1, 5, 2}), {batch, size[0], size[1], groups, w.extent(1), places});
  const Value weights = reshape(w, {groups, floordiv(w.extent(0), groups), w.extent(1), places});
  // [group, batch, row, column, channel]
  const Value sums = contract(columns_of, weights,
                              {.lhs_batch = {3}, .rhs_batch = {0}, .lhs_contract = {4, 5}, .rhs_contract = {2, 3}});
  const Value y = reshape(transpose(sums, {1, 0, 4, 2, 3}), {batch, w.extent(0), size[0], size[1]});
  return call.has(3) ? y + reshape(call.x(3), {w.extent(0), 1, 1}) : y;
}

/// A bilinear sample of picture[channel-last pick] for each point of regions; beyond the picture nothing counts. With
/// `largest`, as ONNX computes the maximum: of the four weighted neighbours instead of their sum.
Value sample_region(const Value& picture, const Value& batch, const Value& y, const Value& x, bool largest) {
  const Value height = extent_value(picture.extent(2), picture.dtype());
  const Value width = extent_value(picture.extent(3), picture.dtype());
  const Value outside = logical_or(logical_or(lt(y, -1), gt(y, height)), logical_or(lt(x, -1), gt(x, width)));
  const Value at_y = clamp(y, 0, height - 1);
  const Value at_x = clamp(x, 0, width - 1);
  Value sum;
  for (int i = 0; i <= 1; ++i) {
    for (int k = 0; k <= 1; ++k) {
      const Value row = min(floor(at_y) + i, height - 1);
      const Value column = min(floor(at_x) + k, width - 1);
      const Value weight_y = i == 0 ? 1.0 - (at_y - floor(at_y)) : at_y - floor(at_y);
      const Value weight_x = k == 0 ? 1.0 - (at_x - floor(at_x)) : at_x - floor(at_x);
      const Value read = gather(picture, {batch, cast(row, Dtype::i64), cast(column, Dtype::i64)}, {.axes = {0, 2, 3}});
      const Value term = read * expand_dims(weight_y * weight_x, {-1});
      sum = !sum ? term : largest ? max(sum, term) : sum + term;
    }
  }
  return select(expand_dims(outside, {-1}), 0, sum);
}

Results roi_align(const NodeCall& call) {
  const Value& picture = call.x(0);
  const Value& regions = call.x(1);  // [region, 4]: x1, y1, x2, y2
  constexpr int64_t most = 1 << 16;
  const int64_t height = call.attribute("output_height", 1);
  const int64_t width = call.attribute("output_width", 1);
  const int64_t samples = call.attribute("sampling_ratio", 0);
  if (samples < 1 || height < 1 || width < 1 || samples > most || height > most || width > most) {
    refuse("sampling_ratio {} for {} x {} results is not supported", samples, height, width);
  }
  const bool half_pixel =
      call.version() >= 16 && call.text_attribute("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  const double scale = call.number_attribute("spatial_scale", 1);
  const Extent& count = regions.extent(0);
  const Shape grid(picture.dtype(), {count, height, samples, width, samples});
  const auto corner = [&](int64_t i) {
    const Value column = slice_axis(regions, 1, i, i + 1);
    return reshape(column * scale - (half_pixel ? 0.5 : 0.0), {count, 1, 1, 1, 1});
  };
  const auto positions = [&](int64_t low, int64_t parts, int axis) {
    Value extent = corner(low + 2) - corner(low);
    extent = half_pixel ? extent : max(extent, 1);
    const Value part = extent / static_cast<double>(parts);
    const Value inner = (iota(grid, axis + 1) + 0.5) / static_cast<double>(samples);
    return corner(low) + (iota(grid, axis) + inner) * part;
  };
  const Value y = positions(1, height, 1);
  const Value x = positions(0, width, 3);
  const Value batch = broadcast_to(reshape(cast(call.x(2), Dtype::i64), {count, 1, 1, 1, 1}), grid.axes());
  const bool is_max = call.text_attribute("mode", "avg") == "max";
  // [region, height, sample, width, sample, channel]
  const Value sampled = sample_region(picture, batch, y, x, is_max);
  const Value pooled = is_max ? reduce_max(sampled, {2, 4}) : reduce_mean(sampled, {2, 4});
  return transpose(pooled, {0, 3, 1, 2});
}

/// Where affine maps theta[batch, d, d+1] take the points of a grid over [-1, 1] in each of d directions, the last
/// direction first: [batch, size..., d].
Results affine_grid(const NodeCall& call) {
  const Value& theta = call.x(0);
  const std::vector<Extent> size = call.extents(1);
  const auto directions = static_cast<int>(size.size()) - 2;
  if (theta.rank() != 3 || directions < 1) {
    refuse("maps {} of sizes of {} numbers are not supported", theta.shape().to_string(), size.size());
  }
  const Shape grid(theta.dtype(), to_shape_axes({size.begin() + 2, size.end()}));
  std::vector<Value> point;
  for (int i = directions; i-- > 0;) {
    const Value at = iota(grid, i);
    const Value count = extent_value(grid.extent(i), theta.dtype());
    point.push_back(call.flag("align_corners") ? at * 2 / max(count - 1, 1) - 1 : (at * 2 + 1) / count - 1);
  }
  point.push_back(full(grid, 1));
  const Value moved = contract(theta, stack(point, -1), {.lhs_contract = {2}, .rhs_contract = {directions}});
  Axes order = {0};
  for (int i = 0; i < directions; ++i) {
    order.push_back(i + 2);
  }
  order.push_back(1);
  return transpose(moved, order);
}

/// Blocks x[batch, channel * block..., place...] added up where they lie in a picture.
Results add_blocks(const NodeCall& call) {
  const Value& x = call.x(0);
  const std::vector<Extent> picture = call.extents(1);
  const std::vector<int64_t> block = call.integers(2);
  const size_t directions = block.size();
  if (x.rank() != 3 || picture.size() != directions || directions == 0) {
    refuse("blocks of {} axes of {} in a picture of {} are not supported", directions, x.shape().to_string(),
           picture.size());
  }
  const std::vector<int64_t> strides = list_or(call, "strides", directions, 1);
  const std::vector<int64_t> dilations = list_or(call, "dilations", directions, 1);
  const std::vector<int64_t> pads = list_or(call, "pads", 2 * directions, 0);
  std::vector<Axis> grid;
  std::vector<Extent> padded;
  Extent elements = 1;
  for (size_t i = 0; i < directions; ++i) {
    grid.emplace_back(block[i]);
    elements *= block[i];
    padded.push_back(picture[i] + pads[i] + pads[directions + i]);
  }
  for (size_t i = 0; i < directions; ++i) {
    grid.emplace_back(floordiv(padded[i] - dilations[i] * (block[i] - 1) - 1, strides[i]) + 1);
  }
  const Extent channels = floordiv(x.extent(1), elements);
  const Shape places(Dtype::i64, grid);
  std::vector<Value> indices;
  std::vector<Axis> split = {x.shape().axis(0), Axis(channels)};
  split.insert(split.end(), grid.begin(), grid.end());
  std::vector<Axis> whole(split.begin(), split.begin() + 2);
  GatherAxes axes;
  Axes order;
  std::vector<Extent> start = {0, 0};
  std::vector<Extent> size = {x.extent(0), channels};
  for (size_t i = 0; i < directions; ++i) {
    const int axis = static_cast<int>(i);
    indices.push_back(iota(places, axis) * dilations[i] +
                      iota(places, axis + static_cast<int>(directions)) * strides[i]);
    whole.emplace_back(padded[i]);
    axes.axes.push_back(axis + 2);
    start.emplace_back(pads[i]);
    size.push_back(picture[i]);
  }
  for (int i = 0; i < places.rank(); ++i) {
    order.push_back(i + 2);
  }
  order.insert(order.end(), {0, 1});
  const Value blocks = transpose(reshape(x, split), order);
  return slice(scatter(full(Shape(x.dtype(), whole), 0), blocks, indices, axes, "add"), start, size);
}

}  // namespace

std::vector<OperatorEntry> vision_operators() {
  return {
      {"", "AffineGrid", 20, affine_grid},
      {"", "Col2Im", 18, add_blocks},
      {"", "DeformConv", 19, deformed_convolution},
      {"", "GridSample", 16, grid_sample},
      {"", "RoiAlign", 10, roi_align},
  };
}

}  // namespace tenon::importer
