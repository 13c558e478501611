#include "schedule/products/winograd_match.h"

#include <algorithm>

namespace tenon::schedule {
namespace {

constexpr int64_t kFewestChannels = 64;  // on both sides

constexpr size_t kMostAxes = 60;  // AxisSet has 64 bits
constexpr size_t kOwnAxes = 24;   // at most

/// The loop over results that moves the load as a loop over positions of weights does.
WinogradSide side_of(const loops::Load& pixels, AxisSet rows, int weight) {
  const Extent apart = scale_along(pixels.at, weight);
  WinogradSide side;
  for (const int row : in_order(rows)) {
    if (apart != Extent(0) && scale_along(pixels.at, row) == apart) {
      if (side.result >= 0) {
        return {};
      }
      side = {.result = row, .weight = weight};
    }
  }
  const bool same_bounds = side.result >= 0 && std::ranges::all_of(pixels.inside, [&](const loops::Bound& bound) {
                             return scale_along(bound.index, side.result) == scale_along(bound.index, weight);
                           });
  return same_bounds ? side : WinogradSide{};
}

bool is_channels(const Draft& draft, int axis) {
  const auto size = draft.kernel.axes[static_cast<size_t>(axis)].extent.constant();
  return size && *size >= kFewestChannels;
}

}  // namespace

WinogradSize size_of(const Draft& draft, const WinogradMatch& match, int64_t cores) {
  const auto extent = [&](int axis) { return draft.kernel.axes[static_cast<size_t>(axis)].extent; };
  const Extent images =
      steps_of(draft, in_order(match.product->rows & ~axis_bit(match.y.result) & ~axis_bit(match.x.result)));
  const auto image = [&]() -> std::optional<ImageSize> {
    const auto count = images.constant();
    const auto height = extent(match.y.result).constant();
    const auto width = extent(match.x.result).constant();
    return count && height && width ? std::optional(ImageSize{*count, *height, *width}) : std::nullopt;
  };
  return {.channels = *extent(match.channels).constant(),
          .results = *extent(match.results).constant(),
          .image = image(),
          .cores = cores};
}

std::optional<WinogradMatch> find_winograd(const Draft& draft, const std::vector<size_t>& stores,
                                           const ConstantOperands& constants, const std::vector<ProductMatch>& products,
                                           const ScheduleOptions& options) {
  if (draft.kernel.axes.size() + kOwnAxes > kMostAxes || products.size() != 1 || draft.reductions.size() != 1 ||
      products[0].types != ProductTypes{}) {
    return std::nullopt;
  }
  const ProductMatch& product = products[0];
  const std::vector<int> depth = in_order(product.depth);
  const std::vector<int> columns = in_order(product.columns);
  const auto* pixels = std::get_if<loops::Load>(&draft.value(product.left).what);
  const loops::Load* weights = plain_load(draft, product.right);
  if (product.batch != 0 || depth.size() != 3 || columns.size() != 1 || !pixels || !pixels->lookups.empty() ||
      !weights || !is_own_constant(draft, product.right, Dtype::f32, constants) || !is_channels(draft, columns[0])) {
    return std::nullopt;
  }
  WinogradMatch match{.product = &product, .weights = *weights, .y = {}, .x = {}, .results = columns[0]};
  std::vector<WinogradSide> sides;
  for (const int axis : depth) {
    if (scale_along(pixels->at, axis) == Extent(1) && is_channels(draft, axis)) {
      match.channels = axis;
    } else if (draft.kernel.axes[static_cast<size_t>(axis)].extent == Extent(3)) {
      sides.push_back(side_of(*pixels, product.rows, axis));
    }
  }
  if (match.channels < 0 || sides.size() != 2 || sides[0].result < 0 || sides[1].result < 0 ||
      sides[0].result == sides[1].result || contains(draft.values.axes(pixels->inside), match.channels)) {
    return std::nullopt;
  }
  match.y = sides[0];
  match.x = sides[1];
  const bool known_weights =
      weights->at.base.is_constant() &&
      std::ranges::all_of(weights->at.terms, [](const loops::Term& term) { return term.scale.is_constant(); });
  const bool known_stores = std::ranges::all_of(stores, [&](size_t store) {
    const DraftStore& each = draft.stores[store];
    return each.axes == (product.rows | product.columns) && each.inside.empty() &&
           scale_along(each.at, match.results) == Extent(1);
  });
  const auto form = winograd_form(size_of(draft, match, options.cores), options.tiles);
  if (!form || !known_weights || !known_stores || !constants.is_small(weights->buffer)) {
    return std::nullopt;
  }
  match.form = *form;
  return match;
}

}  // namespace tenon::schedule
