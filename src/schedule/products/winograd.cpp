#include "schedule/products/winograd.h"

#include <algorithm>
#include <array>

#include "schedule/draft/substituted.h"
#include "schedule/products/product_blocks.h"
#include "schedule/products/winograd_blocks.h"

namespace tenon::schedule {
namespace {

constexpr int64_t kFewestChannels = 64;  // on both sides

constexpr size_t kMostAxes = 60;  // AxisSet has 64 bits
constexpr size_t kOwnAxes = 12;   // at most

using Square = std::array<std::array<int, 4>, 4>;  // values, by row

/// One of the two axes of the image.
struct Side {
  int result = -1;  // the loop over results
  int weight = -1;  // over positions of weights
};

/// The convolution, as loops: sums over `channels` and both sides' weights.
struct Match {
  const ProductMatch* product = nullptr;
  loops::Load weights;
  Side y, x;
  int channels = -1;
  int results = -1;
};

std::optional<int64_t> constant_scale(const loops::Load& load, int axis) {
  return scale_along(load.at, axis).constant();
}

/// The loop over results that moves the load as a loop over positions of weights does.
Side side_of(const loops::Load& pixels, AxisSet rows, int weight) {
  const Extent apart = scale_along(pixels.at, weight);
  Side side;
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
  return same_bounds ? side : Side{};
}

bool is_channels(const Draft& draft, int axis) {
  const auto size = draft.kernel.axes[static_cast<size_t>(axis)].extent.constant();
  return size && *size >= kFewestChannels;
}

/// What products may use for themselves: nothing is copied of panels.
int64_t work_bytes(const ConstantOperands& constants) {
  return constants.panel > 0 ? kProductPanelScratchBytes : kProductScratchBytes;
}

/// What is known of it before it is cut.
WinogradSize size_of(const Draft& draft, const Match& match, int64_t cores) {
  const auto extent = [&](int axis) { return draft.kernel.axes[static_cast<size_t>(axis)].extent; };
  const Extent images =
      steps_of(draft, in_order(match.product->rows & ~axis_bit(match.y.result) & ~axis_bit(match.x.result)));
  const Extent y = extent(match.y.result);
  const Extent x = extent(match.x.result);
  return {.channels = *extent(match.channels).constant(),
          .results = *extent(match.results).constant(),
          .squares = (images * ceildiv(y, 2) * ceildiv(x, 2)).constant(),
          .pixels = (images * y * x).constant(),
          .cores = cores};
}

std::optional<Match> find(const Draft& draft, const std::vector<size_t>& stores, const ConstantOperands& constants,
                          const std::vector<ProductMatch>& products, const ScheduleOptions& options) {
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
  Match match{.product = &product, .weights = *weights, .y = {}, .x = {}, .results = columns[0]};
  std::vector<Side> sides;
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
  const bool pays = winograd_pays(size_of(draft, match, options.cores), options.tiles);
  return pays && known_weights && known_stores ? std::optional(match) : std::nullopt;
}

class Writer {
 public:
  Writer(Draft& draft, const std::vector<size_t>& stores, const ConstantOperands& constants, const Match& match,
         const ScheduleOptions& options)
      : draft_(draft), stores_(stores), constants_(constants), match_(match), options_(options) {}

  TiledProducts run() {
    cut();
    DraftProduct product;
    product.each = static_cast<int>(draft_.kernel.axes.size());
    draft_.kernel.axes.push_back({.extent = kWinogradParts, .name = "part"});
    write_pixels(product);
    write_products(product);
    write_results(product.statement.tile.buffer);
    std::erase_if(draft_.reductions,
                  [&](const DraftReduction& each) { return each.accumulator == match_.product->accumulator; });
    result_.around = result_.grid | loop_bit(channel_blocks_);
    result_.winograd = true;
    result_.products.push_back(std::move(product));
    return std::move(result_);
  }

 private:
  /// Squares along a side.
  struct Cut {
    Extent results;        // of the side
    Extent squares;        // likewise
    int axis = -1;         // a loop over squares, in a block;
    loops::Affine square;  // the number of the square
  };

  Cut cut_of(const Side& side) {
    const loops::Axis of_results = draft_.axis(side.result);
    Cut cut{.results = of_results.extent,
            .squares = ceildiv(of_results.extent, 2),
            .axis = static_cast<int>(draft_.kernel.axes.size()),
            .square = {}};
    draft_.kernel.axes.push_back({.extent = cut.squares, .name = of_results.name + "_2"});
    return cut;
  }

  loops::Affine number_of(int axis) {
    const loops::Axis& a = draft_.axis(axis);
    return a.tile_of < 0 ? affine_axis(axis) : add(scale(affine_axis(a.tile_of), a.extent), affine_axis(axis));
  }

  /// Blocks of squares that scratch has room for, and something for every core.
  void cut() {
    y_ = cut_of(match_.y);
    x_ = cut_of(match_.x);
    rows_ = in_order(match_.product->rows & ~axis_bit(match_.y.result) & ~axis_bit(match_.x.result));
    rows_.insert(rows_.end(), {y_.axis, x_.axis});
    blocks_ = winograd_blocks(size_, options_.tiles, constants_.panel, work_bytes(constants_));
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

  int compute(Prim prim, int a, int b) { return draft_.values.compute(prim, Dtype::f32, {a, b}); }

  /// A side of the image with a pixel or a result of each square in place of its loop. Squares begin inside of the
  /// `results`, of which there are so many fewer than what is counted here.
  static Substituted::Place place(const Cut& cut, int64_t offset, int64_t fewer) {
    Substituted::Place place{.at = add(scale(cut.square, 2), affine_constant(offset))};
    const Extent size = cut.results + fewer;
    if (offset > fewer && !ends_before(cut, offset, size)) {
      place.inside.push_back({.index = place.at, .size = size});
    }
    return place;
  }

  /// Whether an offset from the first pixel of a square is known to be below `size` in the last one, too.
  static bool ends_before(const Cut& cut, int64_t offset, const Extent& size) {
    const auto beyond = (2 * (cut.squares - 1) + offset - size).constant();
    return beyond && *beyond < 0;
  }

  /// Whether a bound of pixels always holds at an offset from the first one of a square.
  static bool holds(const loops::Bound& bound, const Side& side, const Cut& cut, int64_t offset) {
    const loops::Affine moves = add(affine_axis(side.result), affine_axis(side.weight));
    const auto base = bound.index.base.constant();
    return bound.index.terms == moves.terms && base && *base + offset >= 0 &&
           ends_before(cut, *base + offset, bound.size);
  }

  int pixel(int64_t i, int64_t j) {
    auto load = std::get<loops::Load>(draft_.value(match_.product->left).what);
    // What the image's own bounds leave out needs no others: what is read beyond the last result goes into none.
    const auto along = [&](const Side& side, const Cut& cut, int64_t offset) {
      Substituted::Place there = place(cut, offset, 2);
      if (contains(draft_.values.axes(load.inside), side.result)) {
        there.inside.clear();
      }
      return there;
    };
    Substituted at(draft_, {{match_.y.result, along(match_.y, y_, i)},
                            {match_.x.result, along(match_.x, x_, j)},
                            {match_.y.weight, {}},
                            {match_.x.weight, {}}});
    std::erase_if(load.inside, [&](const loops::Bound& bound) {
      return holds(bound, match_.y, y_, i) || holds(bound, match_.x, x_, j);
    });
    return at.load(std::move(load));
  }

  /// B^T times a column of four.
  std::array<int, 4> transformed(const std::array<int, 4>& d) {
    return {compute(Prim::sub, d[0], d[2]), compute(Prim::add, d[1], d[2]), compute(Prim::sub, d[2], d[1]),
            compute(Prim::sub, d[1], d[3])};
  }

  /// A^T times a column of four.
  std::array<int, 2> summed(const std::array<int, 4>& m) {
    return {compute(Prim::add, compute(Prim::add, m[0], m[1]), m[2]),
            compute(Prim::sub, compute(Prim::sub, m[1], m[2]), m[3])};
  }

  void write_pixels(DraftProduct& product) {
    Square columns;  // by x
    for (size_t j = 0; j < 4; ++j) {
      std::array<int, 4> d;
      for (size_t i = 0; i < 4; ++i) {
        d[i] = pixel(static_cast<int64_t>(i), static_cast<int64_t>(j));
      }
      columns[j] = transformed(d);
    }
    const int64_t channels = blocks_.channels;
    const Extent apart = squares_ * channels + kWinogradApart;
    const int buffer = add_scratch(draft_, Dtype::f32, kWinogradParts * apart);
    const loops::Affine at = add(scale(step_number(draft_, rows_), channels), affine_axis(match_.channels));
    for (size_t i = 0; i < 4; ++i) {
      const std::array<int, 4> row = transformed({columns[0][i], columns[1][i], columns[2][i], columns[3][i]});
      for (size_t j = 0; j < 4; ++j) {
        const auto part = static_cast<int64_t>(4 * i + j);
        product.operands.push_back(draft_.stores.size());
        draft_.stores.push_back({.buffer = buffer,
                                 .at = add(at, affine_constant(part * apart)),
                                 .value = row[j],
                                 .axes = all_rows() | axis_bit(match_.channels) | loop_bit(channel_blocks_)});
      }
    }
    product.statement.left = {
        .buffer = buffer, .at = scale(affine_axis(product.each), apart), .row = channels, .column = 1};
  }

  void write_products(DraftProduct& product) {
    const loops::Load& weights = match_.weights;
    const bool panels = constants_.panel > 0;
    const PanelLayout layout{.panel = panels ? constants_.panel : size_.results,
                             .columns = size_.results,
                             .base = *weights.at.base.constant(),
                             .column = *constant_scale(weights, match_.results),
                             .depth = {{.count = size_.channels, .stride = *constant_scale(weights, match_.channels)}},
                             .winograd = WinogradPositions{.y = *constant_scale(weights, match_.y.weight),
                                                           .x = *constant_scale(weights, match_.x.weight)}};
    const Extent apart = squares_ * blocks_.results + kWinogradApart;
    loops::Product& statement = product.statement;
    loops::Affine at = scale(affine_axis(product.each), layout.matrix_elements());
    if (result_blocks_ >= 0) {
      at = add(at, scale(affine_axis(result_blocks_), blocks_.results * (panels ? size_.channels : 1)));
    }
    if (channel_blocks_ >= 0) {
      at = add(at, scale(affine_axis(channel_blocks_), blocks_.channels * layout.panel));
    }
    statement.right = {
        .buffer = weights.buffer, .at = at, .row = layout.panel, .column = panels ? size_.channels * layout.panel : 1};
    statement.tile = {.buffer = add_scratch(draft_, Dtype::f32, kWinogradParts * apart),
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

  void write_results(int buffer) {
    const int64_t results = blocks_.results;
    const Extent apart = squares_ * results + kWinogradApart;
    const loops::Affine at = add(scale(step_number(draft_, rows_), results), affine_axis(match_.results));
    std::array<std::array<int, 2>, 4> columns;  // by x
    for (size_t j = 0; j < 4; ++j) {
      std::array<int, 4> sums;
      for (size_t i = 0; i < 4; ++i) {
        const auto part = static_cast<int64_t>(4 * i + j);
        sums[i] = draft_.values.load(
            {.buffer = buffer, .at = add(at, affine_constant(part * apart)), .inside = {}, .lookups = {}}, all_rows());
      }
      columns[j] = summed(sums);
    }
    std::vector<DraftStore> written;
    for (size_t i = 0; i < 2; ++i) {
      const std::array<int, 2> row = summed({columns[0][i], columns[1][i], columns[2][i], columns[3][i]});
      for (size_t j = 0; j < 2; ++j) {
        Substituted there(draft_,
                          {{match_.y.result, place(y_, static_cast<int64_t>(i), 0)},
                           {match_.x.result, place(x_, static_cast<int64_t>(j), 0)}},
                          {{match_.product->result, row[j]}});
        for (const size_t store : stores_) {
          const DraftStore& each = draft_.stores[store];
          written.push_back({.buffer = each.buffer,
                             .at = there.affine(each.at),
                             .value = there.value(each.value),
                             .axes = all_rows() | axis_bit(match_.results),
                             .inside = there.inside(axis_bit(match_.y.result) | axis_bit(match_.x.result))});
        }
      }
    }
    for (size_t i = 0; i < written.size(); ++i) {  // the first ones take the place of those they are made of
      if (i < stores_.size()) {
        draft_.stores[stores_[i]] = std::move(written[i]);
        result_.stores.push_back(stores_[i]);
      } else {
        result_.stores.push_back(draft_.stores.size());
        draft_.stores.push_back(std::move(written[i]));
      }
    }
  }

  static AxisSet loop_bit(int axis) { return axis < 0 ? 0 : axis_bit(axis); }

  AxisSet all_rows() const {
    AxisSet set = result_.grid;
    for (const int axis : rows_) {
      set |= axis_bit(axis);
    }
    return set;
  }

  Draft& draft_;
  const std::vector<size_t>& stores_;
  const ConstantOperands& constants_;
  const Match& match_;
  const ScheduleOptions& options_;
  const WinogradSize size_ = size_of(draft_, match_, options_.cores);
  WinogradBlocks blocks_ = {};
  int result_blocks_ = -1;   // loops over blocks,
  int channel_blocks_ = -1;  // or none
  Cut y_, x_;
  std::vector<int> rows_;  // the loops over the squares of a block
  Extent squares_;         // in a block
  TiledProducts result_;
};

}  // namespace

std::optional<TiledProducts> tile_winograd(Draft& draft, const std::vector<size_t>& stores,
                                           const ConstantOperands& constants, const std::vector<ProductMatch>& products,
                                           const ScheduleOptions& options) {
  const auto match = find(draft, stores, constants, products, options);
  return match ? std::optional(Writer(draft, stores, constants, *match, options).run()) : std::nullopt;
}

}  // namespace tenon::schedule
