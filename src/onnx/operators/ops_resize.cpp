// Resize and Upsample.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/refused.h"
#include "onnx/import/importer.h"
#include "onnx/import/quotient_at.h"
#include "onnx/import/registry.h"
#include "onnx/operators/resize_table.h"
#include "tenon/convolution.h"

namespace tenon::importer {
namespace {

constexpr double kLargestSize = 1 << 24;

/// Sizes or factors of some axes.
struct Wanted {
  Axes axes = {};
  std::vector<Extent> sizes = {};   // either these
  std::vector<double> scales = {};  // or these
};

/// The simplest fraction that is this number to the precision of an f32.
Scale simple_fraction(double number) {
  for (int denominator = 1; denominator <= 1024; ++denominator) {
    const double numerator = std::round(number * denominator);
    if (std::fabs(numerator / denominator - number) <= std::fabs(number) * 6e-8) {
      return {numerator, static_cast<double>(denominator)};
    }
  }
  return {number, 1};
}

/// Axes that keep their size are left alone.
void drop_unchanged(const Value& x, Wanted& wanted) {
  Wanted kept;
  for (size_t i = 0; i < wanted.axes.size(); ++i) {
    const bool same = wanted.sizes.empty() ? wanted.scales.at(i) == 1 : wanted.sizes.at(i) == x.extent(wanted.axes[i]);
    if (same) {
      continue;
    }
    kept.axes.push_back(wanted.axes[i]);
    if (wanted.sizes.empty()) {
      kept.scales.push_back(wanted.scales[i]);
    } else {
      kept.sizes.push_back(wanted.sizes[i]);
    }
  }
  wanted = std::move(kept);
}

Value resized(const Value& x, Wanted wanted, const ResizeOptions& options) {
  drop_unchanged(x, wanted);
  if (wanted.axes.empty()) {
    return x;
  }
  if (!wanted.sizes.empty()) {
    return resize(x, wanted.axes, wanted.sizes, options);
  }
  std::vector<Scale> scales;
  for (size_t i = 0; i < wanted.axes.size(); ++i) {
    if (!(wanted.scales[i] > 0) || wanted.scales[i] > kLargestSize) {
      refuse("a scale is {}", wanted.scales[i]);
    }
    scales.push_back(simple_fraction(wanted.scales[i]));
  }
  return resize_by(x, wanted.axes, scales, options);
}

void require_count(const Wanted& wanted) {
  const size_t given = wanted.sizes.empty() ? wanted.scales.size() : wanted.sizes.size();
  if (given != wanted.axes.size()) {
    refuse("{} sizes or scales are given for {} axes", given, wanted.axes.size());
  }
}

/// The sizes that scales make which are computed from sizes, such as 64 over the height; nothing for others.
std::vector<Extent> sizes_by_scales(const NodeCall& call, const Value& scales, const Axes& axes) {
  if (call.known_array(scales) || scales.shape().element_count() != Extent(std::ssize(axes))) {
    return {};
  }
  std::vector<Extent> sizes;
  for (const int axis : axes) {
    const std::optional<Quotient> scale = quotient_at(call.importer().known(), scales, std::ssize(sizes));
    const std::optional<Extent> size =
        scale ? divide_exactly(call.x(0).extent(axis) * scale->top, scale->bottom) : std::nullopt;
    if (!size) {
      return {};
    }
    sizes.push_back(*size);
  }
  return sizes;
}

/// Before opset 11 positions were scaled from 0 and rounded down.
Results resize_old(const NodeCall& call, Wanted wanted) {
  const std::string mode = call.text_attribute("mode", "nearest");
  const ResizeOptions options{
      .mode = mode == "bilinear" ? "linear" : mode, .coordinates = "asymmetric", .rounding = "floor"};
  wanted.axes = all_axes(call.x(0));
  require_count(wanted);
  return resized(call.x(0), std::move(wanted), options);
}

std::vector<double> numbers_of(const Array& array) {
  std::vector<double> numbers;
  for (int64_t i = 0; i < array.size(); ++i) {
    numbers.push_back(array.at(i));
  }
  return numbers;
}

Results upsample_first(const NodeCall& call) {
  return resize_old(
      call, {.scales = {1, 1, call.number_attribute("height_scale", 1), call.number_attribute("width_scale", 1)}});
}
Results upsample_attribute(const NodeCall& call) {
  return resize_old(call, {.scales = call.numbers_attribute("scales")});
}
Results upsample_operand(const NodeCall& call) {
  Wanted wanted{.sizes = sizes_by_scales(call, call.x(1), all_axes(call.x(0)))};
  if (wanted.sizes.empty()) {
    wanted.scales = numbers_of(call.array(1));
  }
  return resize_old(call, std::move(wanted));
}

/// One factor for all axes, so that the picture keeps its form.
void keep_aspect(const Value& x, const std::string& policy, Wanted& wanted) {
  if (policy == "stretch") {
    return;
  }
  std::optional<double> factor;
  for (size_t i = 0; i < wanted.axes.size(); ++i) {
    const std::optional<int64_t> from = x.extent(wanted.axes[i]).constant();
    const std::optional<int64_t> to = wanted.sizes[i].constant();
    if (!from || !to || *from == 0) {
      refuse("keep_aspect_ratio_policy `{}` is supported for known sizes alone", policy);
    }
    const double each = static_cast<double>(*to) / static_cast<double>(*from);
    factor = !factor ? each : policy == "not_larger" ? std::min(*factor, each) : std::max(*factor, each);
  }
  for (size_t i = 0; i < wanted.axes.size(); ++i) {
    const auto from = static_cast<double>(*x.extent(wanted.axes[i]).constant());
    wanted.sizes[i] = static_cast<int64_t>(std::floor(from * *factor + 0.5));
  }
}

/// What only tables express: sizes must be known.
Value resized_by_table(const NodeCall& call, const Wanted& wanted, const ResizeTableOptions& options) {
  Value x = call.x(0);
  std::vector<double> region(2 * wanted.axes.size(), 0);
  std::fill(region.begin() + static_cast<std::ptrdiff_t>(wanted.axes.size()), region.end(), 1);
  if (call.has(1) && options.coordinates == "tf_crop_and_resize") {
    const std::vector<double> given = numbers_of(call.array(1));
    region = given.size() == region.size() ? given : region;
  }
  std::optional<Value> inside;
  for (size_t i = 0; i < wanted.axes.size(); ++i) {
    const int axis = wanted.axes[i];
    const bool is_same = wanted.sizes.empty() ? wanted.scales[i] == 1 : wanted.sizes[i] == x.extent(axis);
    if (is_same && options.coordinates != "tf_crop_and_resize") {
      continue;
    }
    const std::optional<int64_t> from = x.extent(axis).constant();
    const std::optional<int64_t> to = wanted.sizes.empty() ? std::nullopt : wanted.sizes[i].constant();
    if (!from || (!wanted.sizes.empty() && !to)) {
      const std::string target = wanted.sizes.empty() ? fmt::format("by {}", static_cast<float>(wanted.scales[i]))
                                                      : fmt::format("to {}", wanted.sizes[i].to_string());
      refuse("a resize of axis {} {} by `{}` with these options needs a known size, not {}", axis, target,
             options.coordinates, x.shape().to_string());
    }
    const double scale = to ? static_cast<double>(*to) / static_cast<double>(*from) : wanted.scales[i];
    const double size = to ? static_cast<double>(*to) : std::floor(static_cast<double>(*from) * scale);
    if (!(size >= 0 && *from >= 1 && size * static_cast<double>(*from) <= kLargestSize)) {
      refuse("a resize to {} elements with these options is not supported", size);
    }
    const ResizeTable table = resize_table({.from = *from,
                                            .to = static_cast<int64_t>(size),
                                            .scale = scale,
                                            .start = region[i],
                                            .end = region[wanted.axes.size() + i]},
                                           options);
    x = apply_table(x, axis, table);
    if (const Value here = inside_of(table, axis, x.rank())) {
      inside = inside ? logical_and(*inside, here) : here;
    }
  }
  return inside ? select(*inside, x, call.number_attribute("extrapolation_value", 0)) : x;
}

Results resize_new(const NodeCall& call) {
  const Value& x = call.x(0);
  Wanted wanted{.axes = to_axes(call.list_attribute("axes")), .sizes = {}, .scales = {}};
  wanted.axes = wanted.axes.empty() ? all_axes(x) : wanted.axes;
  for (int& axis : wanted.axes) {
    axis = x.shape().normalize_axis(axis);
  }
  const bool is_given = call.has(3) && call.x(3).shape().element_count() != Extent(0);
  wanted.sizes = is_given ? call.extents(3) : sizes_by_scales(call, call.x(2), wanted.axes);
  const bool has_sizes = is_given || !wanted.sizes.empty();
  if (!has_sizes) {
    wanted.scales = numbers_of(call.array(2));
  }
  require_count(wanted);
  if (is_given) {
    keep_aspect(x, call.text_attribute("keep_aspect_ratio_policy", "stretch"), wanted);
  }
  const std::string mode = call.text_attribute("mode", "nearest");
  const std::string coordinates = call.text_attribute("coordinate_transformation_mode", "half_pixel");
  const std::string rounding = call.text_attribute("nearest_mode", "round_prefer_floor");
  const double coefficient = call.number_attribute("cubic_coeff_a", -0.75);
  const bool exclude = call.flag("exclude_outside");
  const bool antialias = call.flag("antialias");
  // Corners of a result whose exact size is a fraction lie where that fraction ends.
  const bool has_fraction =
      !has_sizes && std::ranges::any_of(wanted.scales, [](double scale) { return scale != std::floor(scale); });
  const bool is_common = !(coordinates == "align_corners" && has_fraction) &&
                         (coordinates == "half_pixel" || coordinates == "pytorch_half_pixel" ||
                          coordinates == "align_corners" || coordinates == "asymmetric");
  if (!is_common || (exclude && mode == "cubic") || (antialias && mode != "nearest")) {
    return resized_by_table(call, wanted,
                            {.mode = mode,
                             .coordinates = coordinates,
                             .rounding = rounding,
                             .cubic_coefficient = coefficient,
                             .exclude_outside = exclude,
                             .antialias = antialias});
  }
  return resized(x, std::move(wanted),
                 {.mode = mode, .coordinates = coordinates, .rounding = rounding, .cubic_coefficient = coefficient});
}

}  // namespace

std::vector<OperatorEntry> resize_operators() {
  return {
      {"", "Upsample", 1, upsample_first},   {"", "Upsample", 7, upsample_attribute},
      {"", "Upsample", 9, upsample_operand}, {"", "Resize", 10, upsample_operand},
      {"", "Resize", 11, resize_new},
  };
}

}  // namespace tenon::importer
