#include "schedule/products/winograd.h"

#include <fmt/format.h>

#include <algorithm>

#include "schedule/products/product_blocks.h"
#include "schedule/products/winograd_transforms.h"
#include "schedule/products/winograd_writer.h"

namespace tenon::schedule {
namespace {

std::optional<int64_t> constant_scale(const loops::Load& load, int axis) {
  return scale_along(load.at, axis).constant();
}

/// What products may use for themselves: nothing is copied of panels.
int64_t work_bytes(const ConstantOperands& constants) {
  return constants.panel > 0 ? kProductPanelScratchBytes : kProductScratchBytes;
}

AxisSet loop_bit(int axis) { return axis < 0 ? 0 : axis_bit(axis); }

}  // namespace

TiledProducts WinogradWriter::run() {
  cut();
  DraftProduct product;
  product.each = static_cast<int>(draft_.kernel.axes.size());
  draft_.kernel.axes.push_back({.extent = form_.parts(), .name = "part"});
  write_pixels(product);
  write_products(product);
  write_results(product.statement.tile.buffer);
  std::erase_if(draft_.reductions,
                [&](const DraftReduction& each) { return each.accumulator == match_.product->accumulator; });
  result_.around = result_.grid | loop_bit(channel_blocks_);
  result_.winograd = form_.results;
  result_.products.push_back(std::move(product));
  return std::move(result_);
}

WinogradWriter::Cut WinogradWriter::cut_of(const WinogradSide& side) {
  const loops::Axis of_results = draft_.axis(side.result);
  Cut cut{.results = of_results.extent,
          .squares = ceildiv(of_results.extent, form_.results),
          .axis = static_cast<int>(draft_.kernel.axes.size()),
          .square = {}};
  draft_.kernel.axes.push_back({.extent = cut.squares, .name = fmt::format("{}_{}", of_results.name, form_.results)});
  return cut;
}

loops::Affine WinogradWriter::number_of(int axis) {
  const loops::Axis& a = draft_.axis(axis);
  return a.tile_of < 0 ? affine_axis(axis) : add(scale(affine_axis(a.tile_of), a.extent), affine_axis(axis));
}

/// Blocks of squares that scratch has room for, and something for every core.
void WinogradWriter::cut() {
  y_ = cut_of(match_.y);
  x_ = cut_of(match_.x);
  rows_ = in_order(match_.product->rows & ~axis_bit(match_.y.result) & ~axis_bit(match_.x.result));
  rows_.insert(rows_.end(), {y_.axis, x_.axis});
  blocks_ = winograd_blocks(size_, form_, options_.tiles, constants_.panel, work_bytes(constants_));
  // Whole rows of the image where they fit; with many cores, something for each of them counts more.
  const Extent of_each = ceildiv(steps_of(draft_, rows_), options_.cores);
  const Extent share = max(Extent(kFewestSquares), options_.cores > kFewCores ? of_each : of_each + x_.squares);
  result_.grid = cut_loops(draft_, rows_, named_size(draft_, min(Extent(blocks_.squares), share)), 1);
  if (blocks_.results < size_.results) {
    result_blocks_ = tile_axis(draft_, match_.results, blocks_.results);
    result_.grid |= axis_bit(result_blocks_);
  }
  if (blocks_.channels < size_.channels) {
    channel_blocks_ = tile_axis(draft_, match_.channels, blocks_.channels);
  }
  y_.square = number_of(y_.axis);
  x_.square = number_of(x_.axis);
  squares_ = steps_of(draft_, rows_);
}

/// `from` and those behind it.
WinogradWriter::Offset WinogradWriter::all(int axis, int64_t from) const {
  return {.at = add(affine_axis(axis), affine_constant(from)),
          .first = from,
          .last = from + *draft_.axis(axis).extent.constant() - 1};
}

int WinogradWriter::add_axis(std::string name, int64_t extent) {
  draft_.kernel.axes.push_back({.extent = extent, .name = std::move(name)});
  return static_cast<int>(draft_.kernel.axes.size()) - 1;
}

/// A side of the image with pixels or results of each square in place of its loop. Squares begin inside of the
/// `results`, of which there are so many fewer than what is counted here.
Substituted::Place WinogradWriter::place(const Cut& cut, const Offset& offset, int64_t fewer) const {
  Substituted::Place place{.at = add(scale(cut.square, form_.results), offset.at)};
  const Extent size = cut.results + fewer;
  if (offset.last > fewer && !ends_before(cut, offset.last, size)) {
    place.inside.push_back({.index = place.at, .size = size});
  }
  return place;
}

/// Whether an offset from the first pixel of a square is known to be below `size` in the last one, too.
bool WinogradWriter::ends_before(const Cut& cut, int64_t offset, const Extent& size) const {
  const auto beyond = (form_.results * (cut.squares - 1) + offset - size).constant();
  return beyond && *beyond < 0;
}

/// Whether a bound of pixels always holds at these offsets from the first one of a square.
bool WinogradWriter::holds(const loops::Bound& bound, const WinogradSide& side, const Cut& cut,
                           const Offset& offset) const {
  const loops::Affine moves = add(affine_axis(side.result), affine_axis(side.weight));
  const auto base = bound.index.base.constant();
  return bound.index.terms == moves.terms && base && *base + offset.first >= 0 &&
         ends_before(cut, *base + offset.last, bound.size);
}

/// The pixel there, of the loops that something else stands for.
int WinogradWriter::pixel(const Offset& y, const Offset& x, const std::map<int, Substituted::Place>& also) {
  auto load = std::get<loops::Load>(draft_.value(match_.product->left).what);
  // What the image's own bounds leave out needs no others: what is read beyond the last result goes into none.
  const auto along = [&](const WinogradSide& side, const Cut& cut, const Offset& offset) {
    Substituted::Place there = place(cut, offset, 2);
    if (contains(draft_.values.axes(load.inside), side.result)) {
      there.inside.clear();
    }
    return there;
  };
  std::map<int, Substituted::Place> by{{match_.y.result, along(match_.y, y_, y)},
                                       {match_.x.result, along(match_.x, x_, x)},
                                       {match_.y.weight, {}},
                                       {match_.x.weight, {}}};
  by.insert(also.begin(), also.end());
  Substituted at(draft_, std::move(by));
  std::erase_if(load.inside, [&](const loops::Bound& bound) {
    return holds(bound, match_.y, y_, y) || holds(bound, match_.x, x_, x);
  });
  return at.load(std::move(load));
}

WinogradWriter::HalfSquare WinogradWriter::half_square(int64_t rows, int64_t elements, int along) {
  return {.buffer = add_scratch(draft_, Dtype::f32, rows * form_.pixels() * elements),
          .elements = elements,
          .element = affine_axis(along)};
}
loops::Affine WinogradWriter::at(const HalfSquare& half, const loops::Affine& row, const loops::Affine& column) const {
  return add(add(scale(row, form_.pixels() * half.elements), scale(column, half.elements)), half.element);
}
std::vector<int> WinogradWriter::row_of(const HalfSquare& half, int row) {
  std::vector<int> values;
  for (int64_t j = 0; j < form_.pixels(); ++j) {
    values.push_back(draft_.values.load(
        {.buffer = half.buffer, .at = at(half, affine_axis(row), affine_constant(j)), .inside = {}, .lookups = {}},
        all_rows()));
  }
  return values;
}

void WinogradWriter::write_pixels(DraftProduct& product) {
  const AxisSet loops = all_rows() | axis_bit(match_.channels) | loop_bit(channel_blocks_);
  const auto store = [&](int buffer, loops::Affine at, int value, int axis) {
    product.operands.push_back(draft_.stores.size());
    draft_.stores.push_back({.buffer = buffer, .at = std::move(at), .value = value, .axes = loops | axis_bit(axis)});
  };
  const int64_t channels = blocks_.channels;
  const int column = add_axis("column", form_.pixels());
  const HalfSquare half = half_square(form_.pixels(), channels, match_.channels);
  std::vector<int> d;
  for (int64_t i = 0; i < form_.pixels(); ++i) {
    d.push_back(pixel(one(i), all(column)));
  }
  int64_t i = 0;
  for (const int value : transformed_pixels(form_, draft_.values, d)) {
    store(half.buffer, at(half, affine_constant(i++), affine_axis(column)), value, column);
  }
  const int row = add_axis("row", form_.pixels());
  const Extent apart = squares_ * channels + kWinogradApart;
  const int buffer = add_scratch(draft_, Dtype::f32, form_.parts() * apart);
  loops::Affine part = add(scale(step_number(draft_, rows_), channels), affine_axis(match_.channels));
  part = add(part, scale(affine_axis(row), form_.pixels() * apart));
  for (const int value : transformed_pixels(form_, draft_.values, row_of(half, row))) {
    store(buffer, part, value, row);
    part = add(part, affine_constant(apart));
  }
  product.by_rows = true;
  product.statement.left = {
      .buffer = buffer, .at = scale(affine_axis(product.each), apart), .row = channels, .column = 1};
}

layouts::PanelLayout WinogradWriter::layout() const {
  const loops::Load& weights = match_.weights;
  return {.panel = constants_.panel > 0 ? constants_.panel : size_.results,
          .columns = size_.results,
          .base = *weights.at.base.constant(),
          .column = *constant_scale(weights, match_.results),
          .depth = {{.count = size_.channels, .stride = *constant_scale(weights, match_.channels)}},
          .winograd = layouts::WinogradPositions{.y = *constant_scale(weights, match_.y.weight),
                                                 .x = *constant_scale(weights, match_.x.weight),
                                                 .form = form_}};
}

/// Of a block of results, in each matrix.
loops::Affine WinogradWriter::first_weight() const {
  const int64_t apart = constants_.panel > 0 ? size_.channels : 1;
  return result_blocks_ < 0 ? loops::Affine{} : scale(affine_axis(result_blocks_), blocks_.results * apart);
}

void WinogradWriter::write_products(DraftProduct& product) {
  const loops::Load& weights = match_.weights;
  const bool panels = constants_.panel > 0;
  const layouts::PanelLayout layout = this->layout();
  const Extent apart = squares_ * blocks_.results + kWinogradApart;
  loops::Product& statement = product.statement;
  loops::Affine at = add(first_weight(), scale(affine_axis(product.each), layout.matrix_elements()));
  if (channel_blocks_ >= 0) {
    at = add(at, scale(affine_axis(channel_blocks_), blocks_.channels * layout.panel));
  }
  statement.right = {
      .buffer = weights.buffer, .at = at, .row = layout.panel, .column = panels ? size_.channels * layout.panel : 1};
  statement.tile = {.buffer = add_scratch(draft_, Dtype::f32, form_.parts() * apart),
                    .at = scale(affine_axis(product.each), apart),
                    .row = blocks_.results,
                    .column = 1};
  statement.rows = rows_;
  statement.columns = {match_.results};
  statement.depth = {match_.channels};
  statement.panel = constants_.panel;
  statement.adds_after = product.depth_blocks = channel_blocks_;
  statement.work = add_scratch(draft_, Dtype::u8, work_bytes(constants_));
  result_.panels[weights.buffer] = layout;
}

/// What is stored where a result of the convolution is known.
std::vector<DraftStore> WinogradWriter::stored(const Offset& y, const Offset& x, int result, AxisSet loops) {
  Substituted there(draft_, {{match_.y.result, place(y_, y, 0)}, {match_.x.result, place(x_, x, 0)}},
                    {{match_.product->result, result}});
  std::vector<DraftStore> all;
  for (const size_t store : stores_) {
    const DraftStore& each = draft_.stores[store];
    all.push_back({.buffer = each.buffer,
                   .at = there.affine(each.at),
                   .value = there.value(each.value),
                   .axes = loops,
                   .inside = there.inside(axis_bit(match_.y.result) | axis_bit(match_.x.result))});
  }
  return all;
}

void WinogradWriter::write_results(int buffer) {
  const int64_t results = blocks_.results;
  const AxisSet loops = all_rows() | axis_bit(match_.results);
  const int column = add_axis("column", form_.pixels());
  const HalfSquare half = half_square(form_.results, results, match_.results);
  const Extent apart = squares_ * results + kWinogradApart;
  loops::Affine part = add(scale(step_number(draft_, rows_), results), affine_axis(match_.results));
  part = add(part, scale(affine_axis(column), apart));
  std::vector<int> sums;
  for (int64_t i = 0; i < form_.pixels(); ++i) {
    sums.push_back(draft_.values.load({.buffer = buffer, .at = part, .inside = {}, .lookups = {}}, all_rows()));
    part = add(part, affine_constant(form_.pixels() * apart));
  }
  write_exception(buffer);
  std::vector<DraftStore> written;
  const int row = add_axis("row", form_.results);
  const std::vector<int> square = transformed_sums(form_, draft_.values, row_of(half, row));
  for (size_t j = 0; j < square.size(); ++j) {
    for (DraftStore& store : stored(all(row), one(static_cast<int64_t>(j)), square[j], loops | axis_bit(row))) {
      written.push_back(std::move(store));
    }
  }
  int64_t i = 0;
  for (const int value : transformed_sums(form_, draft_.values, sums)) {
    result_.stores.push_back(draft_.stores.size());
    draft_.stores.push_back({.buffer = half.buffer,
                             .at = at(half, affine_constant(i++), affine_axis(column)),
                             .value = value,
                             .axes = loops | axis_bit(column)});
  }
  for (size_t k = 0; k < written.size(); ++k) {  // the first ones take the place of those they are made of
    if (k < stores_.size()) {
      draft_.stores[stores_[k]] = std::move(written[k]);
      result_.stores.push_back(stores_[k]);
    } else {
      result_.stores.push_back(draft_.stores.size());
      draft_.stores.push_back(std::move(written[k]));
    }
  }
  for (const int axis : rows_) {
    result_.first |= axis_bit(axis);
  }
}

AxisSet WinogradWriter::all_rows() const {
  AxisSet set = result_.grid;
  for (const int axis : rows_) {
    set |= axis_bit(axis);
  }
  return set;
}

std::optional<TiledProducts> tile_winograd(Draft& draft, const std::vector<size_t>& stores,
                                           const ConstantOperands& constants, const std::vector<ProductMatch>& products,
                                           const ScheduleOptions& options) {
  const auto match = find_winograd(draft, stores, constants, products, options);
  return match ? std::optional(WinogradWriter(draft, stores, constants, *match, options).run()) : std::nullopt;
}

}  // namespace tenon::schedule
