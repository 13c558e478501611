#include "onnx/operators/resize_table.h"

#include <algorithm>
#include <cmath>

#include "base/refused.h"

namespace tenon::importer {
namespace {

double source_position(int64_t at, const ResizeAxis& axis, const std::string& rule) {
  const auto x = static_cast<double>(at);
  const auto from = static_cast<double>(axis.from);
  const auto to = static_cast<double>(axis.to);
  if (rule == "half_pixel") {
    return (x + 0.5) / axis.scale - 0.5;
  }
  if (rule == "pytorch_half_pixel") {
    return axis.to > 1 ? (x + 0.5) / axis.scale - 0.5 : 0;
  }
  if (rule == "half_pixel_symmetric") {
    const double exact = from * axis.scale;
    return (x + 0.5) / axis.scale - 0.5 + (exact > 0 ? from / 2 * (1 - to / exact) : 0);
  }
  if (rule == "align_corners") {
    return axis.to > 1 ? x * (from - 1) / (from * axis.scale - 1) : 0;
  }
  if (rule == "asymmetric") {
    return x / axis.scale;
  }
  if (rule == "tf_half_pixel_for_nn") {
    return (x + 0.5) / axis.scale;
  }
  if (rule == "tf_crop_and_resize") {
    return axis.to > 1 ? axis.start * (from - 1) + x * (axis.end - axis.start) * (from - 1) / (to - 1)
                       : 0.5 * (axis.start + axis.end) * (from - 1);
  }
  refuse("coordinate_transformation_mode is `{}`", rule);
}

double rounded(double position, const std::string& rule) {
  if (rule == "floor") {
    return std::floor(position);
  }
  if (rule == "ceil") {
    return std::ceil(position);
  }
  return rule == "round_prefer_ceil" ? std::floor(position + 0.5) : std::ceil(position - 0.5);
}

double linear_weight(double t) { return std::max(0.0, 1 - std::fabs(t)); }

double cubic_weight(double t, double a) {
  const double d = std::fabs(t);
  if (d <= 1) {
    return ((a + 2) * d - (a + 3)) * d * d + 1;
  }
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

/// Adds the weights of one result: neighbours within the filter's reach, the ends repeated or left out.
void add_row(ResizeTable& table, int64_t row, double position, const ResizeAxis& axis,
             const ResizeTableOptions& options) {
  const bool is_cubic = options.mode == "cubic";
  const double shrink = options.antialias ? std::min(axis.scale, 1.0) : 1;  // wider filters where elements merge
  const double reach = (is_cubic ? 2 : 1) / shrink;
  const auto first = static_cast<int64_t>(std::floor(position - reach)) - 1;
  const auto last = static_cast<int64_t>(std::ceil(position + reach)) + 1;
  double sum = 0;
  std::vector<std::pair<int64_t, double>> taps;
  for (int64_t i = first; i <= last; ++i) {
    const double t = (static_cast<double>(i) - position) * shrink;
    const bool is_outside = i < 0 || i >= axis.from;
    const double weight = options.exclude_outside && is_outside ? 0
                          : is_cubic                            ? cubic_weight(t, options.cubic_coefficient)
                                                                : linear_weight(t);
    taps.emplace_back(std::clamp<int64_t>(i, 0, axis.from - 1), weight);
    sum += weight;
  }
  for (const auto& [i, weight] : taps) {
    table.weights[static_cast<size_t>(row * axis.from + i)] += sum == 0 ? 0 : weight / sum;
  }
}

}  // namespace

ResizeTable resize_table(const ResizeAxis& axis, const ResizeTableOptions& options) {
  if (axis.from < 1) {
    refuse("an axis without elements cannot be resized");
  }
  ResizeTable table{.from = axis.from,
                    .to = axis.to,
                    .weights = std::vector<double>(static_cast<size_t>(axis.from * axis.to), 0),
                    .outside = std::vector<bool>(static_cast<size_t>(axis.to), false)};
  for (int64_t row = 0; row < axis.to; ++row) {
    const double position = source_position(row, axis, options.coordinates);
    if (options.coordinates == "tf_crop_and_resize") {
      table.outside[static_cast<size_t>(row)] = position < 0 || position > static_cast<double>(axis.from - 1);
    }
    if (options.mode == "nearest") {
      const double nearest = std::clamp(rounded(position, options.rounding), 0.0, static_cast<double>(axis.from - 1));
      table.weights[static_cast<size_t>(row * axis.from + static_cast<int64_t>(nearest))] = 1;
    } else {
      add_row(table, row, position, axis, options);
    }
  }
  return table;
}

Value apply_table(const Value& x, int axis, const ResizeTable& table) {
  const Value weights = constant(Array::from<double>({table.to, table.from}, table.weights).cast(x.dtype()));
  const Value product = contract(x, weights, {.lhs_contract = {axis}, .rhs_contract = {1}});
  Axes order;  // the new axis, which is last, goes back to its place
  for (int i = 0; i + 1 < x.rank(); ++i) {
    order.push_back(i);
  }
  order.insert(order.begin() + axis, x.rank() - 1);
  return axis == x.rank() - 1 ? product : transpose(product, order);
}

Value inside_of(const ResizeTable& table, int axis, int rank) {
  if (std::ranges::none_of(table.outside, [](bool outside) { return outside; })) {
    return {};
  }
  std::vector<uint8_t> inside;
  for (const bool outside : table.outside) {
    inside.push_back(outside ? 0 : 1);
  }
  std::vector<int64_t> dims(static_cast<size_t>(rank), 1);
  dims[static_cast<size_t>(axis)] = table.to;
  return constant(Array::from<uint8_t>(dims, inside).cast(Dtype::boolean));
}

}  // namespace tenon::importer
