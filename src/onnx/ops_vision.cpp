// Operators that sample pictures at positions that are values.
#include <numbers>

#include "base/fail.h"
#include "onnx/registry.h"
#include "tenon/indexing.h"

namespace tenon::importer {
namespace {

/// Elements of x[batch, channel, h, w] at positions y and x of [batch, point...]: [batch, point..., channel].
Value pick(const Value& picture, const Value& y, const Value& x) {
  return gather(picture, {cast(y, Dtype::i64), cast(x, Dtype::i64)},
                {.axes = {2, 3}, .x_batch = {0}, .index_batch = {0}});
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

  /// Elements at whole positions, which may lie outside.
  Value read(Value y, Value x) const {
    if (padding == "reflection") {
      y = reflected(y, 2);
      x = reflected(x, 3);
    }
    const Value inside_y = clamp(y, 0, size(2) - 1);
    const Value inside_x = clamp(x, 0, size(3) - 1);
    const Value read = pick(picture, inside_y, inside_x);
    if (padding != "zeros") {
      return read;
    }
    const Value inside = logical_and(eq(inside_y, y), eq(inside_x, x));
    return select(expand_dims(inside, {-1}), read, 0);
  }
};

Value cubic_weight(const Value& distance) {
  constexpr double a = -0.75;
  const Value d = abs(distance);
  const Value near = ((d * (a + 2)) - (a + 3)) * d * d + 1;
  const Value far = ((d * a - 5 * a) * d + 8 * a) * d - 4 * a;
  return select(le(d, 1), near, far);
}

/// Sums over the neighbours of (y, x), `first` to `last` from its floor, weighted by their distance.
Value weighted(const Sampler& sampler, const Value& y, const Value& x, int first, int last,
               Value (*weight)(const Value&)) {
  const Value base_y = floor(y);
  const Value base_x = floor(x);
  Value sum;
  for (int i = first; i <= last; ++i) {
    for (int k = first; k <= last; ++k) {
      const Value at_y = base_y + i;
      const Value at_x = base_x + k;
      const Value factor = weight(at_y - y) * weight(at_x - x);
      const Value term = sampler.read(at_y, at_x) * expand_dims(factor, {-1});
      sum = sum ? sum + term : term;
    }
  }
  return sum;
}

Value linear_weight(const Value& distance) { return 1.0 - abs(distance); }

Results grid_sample(const NodeCall& call) {
  const Value& grid = call.x(1);
  if (call.x(0).rank() != 4 || grid.rank() != 4) {
    fail("pictures of {} axes are not supported", call.x(0).rank());
  }
  const Sampler sampler{.picture = call.x(0),
                        .padding = call.text_attribute("padding_mode", "zeros"),
                        .align_corners = call.flag("align_corners")};
  const auto coordinate = [&](int64_t i, int axis) {
    const Value at = squeeze(slice_axis(grid, -1, i, i + 1), {-1});
    return sampler.to_position(cast(at, sampler.picture.dtype()), axis);
  };
  const Value x = coordinate(0, 3);
  const Value y = coordinate(1, 2);
  const std::string mode = call.text_attribute("mode", "bilinear");
  Value result;
  if (mode == "nearest") {
    result = sampler.read(round(sampler.bounded(y, 2)), round(sampler.bounded(x, 3)));
  } else if (mode == "bilinear" || mode == "linear") {
    result = weighted(sampler, sampler.bounded(y, 2), sampler.bounded(x, 3), 0, 1, linear_weight);
  } else if (mode == "bicubic" || mode == "cubic") {
    result = weighted(sampler, y, x, -1, 2, cubic_weight);
  } else {
    fail("mode is `{}`", mode);
  }
  return transpose(result, {0, 3, 1, 2});
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
    fail("sampling_ratio {} for {} x {} results is not supported", samples, height, width);
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

}  // namespace

std::vector<OperatorEntry> vision_operators() {
  return {
      {"", "GridSample", 16, grid_sample},
      {"", "RoiAlign", 10, roi_align},
  };
}

}  // namespace tenon::importer
