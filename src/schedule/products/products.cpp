#include "schedule/products/products.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "schedule/draft/refusal.h"
#include "schedule/products/joined_columns.h"
#include "schedule/products/product_blocks.h"
#include "schedule/products/stream_products.h"
#include "schedule/products/winograd.h"

namespace tenon::schedule {
namespace {

/// Of a tile that is the output: it takes no scratch, and the product itself cuts it into what caches hold.
constexpr int64_t kRowsOfOutput = 384;
constexpr int64_t kColumnsOfOutput = 128, kUsualColumnsOfOutput = 256, kMostOfOutput = 1024;
constexpr int64_t kFewColumns = 64;  // that are not worth cutting
constexpr size_t kAllLoops = 64;
constexpr int64_t kFewestRows = 4;

class Tiler {
 public:
  Tiler(Draft& draft, const std::vector<size_t>& stores, const ConstantOperands& constants, const ProductForm& form)
      : draft_(draft), stores_(stores), constants_(constants), form_(form) {}

  TiledProducts run() {
    found_ = find_products(draft_, constants_);
    if (found_.empty()) return {};
    if (form_.options.winograd && !form_.streams && !form_.reductions) {
      if (auto tiled = tile_winograd(draft_, stores_, constants_, found_, form_.options)) {
        return std::move(*tiled);
      }
    }
    common_ = form_.reductions ? form_.reductions->common : common_axes(draft_, stores_);
    AxisSet free = 0;
    AxisSet batch = 0;
    for (ProductMatch& product : found_) {
      require_tiles(product);
      orient(product);
      free |= product.rows | product.columns;
      batch |= product.batch;
    }
    require_no_other_loops();
    if (form_.streams) {
      stream_ = ProductStream::find(draft_, found_, stores_, tiles_);
      if (!stream_) throw Refusal{"its products run over tiles", {}};
      result_.streamed = stream_->length();
    }
    result_.stores = stores_;
    result_.grid = common_ & (~free | batch);
    for (const ProductMatch& product : found_) {
      tile(product);
    }
    for (const ProductMatch& product : found_) {
      if (!is_subset(result_.grid, draft_.values.axes(product.result))) {
        throw Refusal{"a product would be computed again and again", {}};
      }
      require_one_count(in_order(product.rows & ~result_.grid));
      require_one_count(in_order(product.columns & ~result_.grid));
    }
    work_ = add_scratch(draft_, Dtype::u8, kProductScratchBytes);
    if (stream_) {
      stream_->begin(found_.back(), in_order(found_.back().rows & ~result_.grid));
    }
    for (const ProductMatch& product : found_) {
      write(product);
    }
    if (found_.size() == 1 && draft_.reductions.size() == 1 && !stream_ && !form_.reductions) {
      join_columns(draft_, result_.stores, in_order(found_[0].columns & ~result_.grid));
    }
    result_.around = result_.grid;
    if (stream_) {
      result_.around |= axis_bit(stream_->blocks());
      result_.products.front().begins = result_.products.back().ends = stream_->blocks();
      result_.products.front().first = stream_->first();
      result_.products.back().carried = stream_->carried();
    }
    for (const DraftProduct& product : result_.products) {
      result_.around |= product.depth_blocks >= 0 ? axis_bit(product.depth_blocks) : 0;
    }
    std::erase_if(draft_.reductions, [&](const DraftReduction& reduction) {
      return std::ranges::find(found_, reduction.accumulator, &ProductMatch::accumulator) != found_.end() ||
             (stream_ && stream_->is_known(reduction));
    });
    return std::move(result_);
  }

 private:
  /// What one thread computes at once must be little, and there must be something for every thread.
  void require_tiles(const ProductMatch& product) const {
    if (!is_subset(product.batch, common_)) {
      throw Refusal{"a reduction over the results of many products", {}};
    }
    const auto is_mixed = [&](AxisSet side) { return (side & common_) != 0 && (side & ~common_) != 0; };
    if (is_mixed(product.rows) || is_mixed(product.columns)) {
      throw Refusal{"a reduction over a part of the rows of a product", {}};
    }
    const auto is_whole = [&](AxisSet side) {
      const auto size = steps_of(draft_, in_order(side & ~common_)).constant();
      return !size || *size > kFewColumns;
    };
    if (is_whole(product.rows) && is_whole(product.columns)) {
      throw Refusal{"all of the product would be one tile", {}};
    }
    if (product.batch == 0 && (is_whole(product.rows) || is_whole(product.columns))) {
      throw Refusal{"rows alone would give threads too little to do", {}};
    }
  }

  void require_no_other_loops() const {
    AxisSet known = 0;
    for (const ProductMatch& product : found_) {
      known |= product.batch | product.rows | product.columns | product.depth;
    }
    AxisSet all = 0;
    for (const size_t store : stores_) {
      all |= draft_.stores[store].axes;
    }
    for (const DraftReduction& reduction : draft_.reductions) {
      all |= reduction.axes | reduction.level;
    }
    if (!is_subset(all, known)) {
      throw Refusal{"it runs over more than the product does", {}};
    }
  }

  void require_one_count(const std::vector<int>& side) const {
    if (!cuts_.count_as_one(draft_, side)) {
      throw Refusal{"one product would run over tiles of rows and columns of another", {}};
    }
  }

  /// The elements of a row of the tile lie side by side: so should those of what is read next as rows, which are whole
  /// in each tile; else those of what is stored.
  void orient(ProductMatch& product) const {
    // What is stored of whole rows says nothing about tiles.
    const auto has_tiles = [&](size_t store) {
      const AxisSet axes = draft_.stores[store].axes;
      return std::ranges::any_of(
          found_, [&](const ProductMatch& each) { return (each.rows & axes) != 0 && (each.columns & axes) != 0; });
    };
    const auto score = [&](AxisSet side) {
      int sum = 0;
      for (const size_t store : stores_) {
        for (const int axis : has_tiles(store) ? in_order(side) : std::vector<int>{}) {
          sum += scale_along(draft_.stores[store].at, axis) == Extent(1) ? 2 : 0;
        }
      }
      return std::pair((side & ~common_) != 0, sum);
    };
    if (score(product.rows) > score(product.columns)) {
      turn(draft_, product);
    }
  }

  void tile(const ProductMatch& product) {
    const Extent whole_columns = steps_of(draft_, in_order(product.columns & ~common_));
    const Extent whole_rows = steps_of(draft_, in_order(product.rows & ~common_));
    const auto most = [&](int64_t usual, const Extent& whole) {
      return whole == Extent(1) ? Extent(usual)
                                : min(usual, max(kFewestRows, floordiv(tiles_.tile_elements, max(Extent(1), whole))));
    };
    if (is_output(product) && whole_columns == Extent(1) && whole_rows == Extent(1)) {
      if (form_.options.blocks) return tile_sides(product, {.rows = tiles_.rows, .columns = tiles_.columns});
      const DraftStore& end = draft_.stores[stores_[0]];
      const bool needs_tile = !as_matrix(draft_, end.buffer, end.at, in_order(product.rows), in_order(product.columns));
      const auto share = [&](AxisSet side, int64_t least, int64_t usual) {
        const std::vector<int> axes = in_order(side & common_);  // of several, the formula would be very long
        return axes.size() != 1 || needs_tile ? Extent(usual)
                                              : equal_shares(in_program_names(draft_.axis(axes[0]).extent),
                                                             cuts_of_output(form_.options.cores), least, kMostOfOutput);
      };
      const TileSides sides{.rows = share(product.rows, kRowsOfOutput, kRowsOfOutput),
                            .columns = share(product.columns, kColumnsOfOutput, kUsualColumnsOfOutput)};
      return tile_sides(product, output_tiles_for_cores(all_of(product), sides, form_.options.cores));
    }
    const Extent rows = stream_ ? rows_of_stream() : min(most(most_rows(), whole_columns), most_stored(product));
    const Extent columns = most(tiles_.columns, whole_rows);
    const TileSides sides{.rows = rows, .columns = columns};
    tile_sides(product, form_.options.blocks ? sides : tiles_for_cores(all_of(product), sides, form_.options.cores));
  }

  /// What tiles of a product cut.
  TileSides all_of(const ProductMatch& product) const {
    const Extent others = in_program_names(steps_of(draft_, in_order(result_.grid)));
    return {.rows = side_of(product.rows), .columns = side_of(product.columns), .others = others};
  }

  void tile_sides(const ProductMatch& product, const TileSides& sides) {
    tile_side(product.rows, sides.rows, 1, loops_of_rows(product), sides.even_rows);
    const bool packs = any_packable(draft_, found_, constants_);
    if (const AxisSet side = product.columns & common_ & ~tiled_ & ~result_.grid;
        packs && !sides.columns.is_constant() && std::popcount(side) == 1) {
      whole_panels_ |= side;
    }
    tile_side(product.columns, sides.columns, multiple_of_columns(packs ? constants_.panel : 0),
              loops_of_columns(product));
  }

  /// Steps of a side that tiles cut; 1 where it is cut or whole.
  Extent side_of(AxisSet side) const {
    return in_program_names(steps_of(draft_, in_order(side & common_ & ~tiled_ & ~result_.grid)));
  }
  Extent in_program_names(const Extent& extent) const { return extent.substitute(draft_.kernel.arguments); }

  /// How many loops of a side make a tile: one is enough for what can be read in place, and the others go around. But
  /// columns fill vectors, so there two short ones count as one, even if what they read must then be stored. Blocks of
  /// threads store nothing for it, and have all loops in a tile.
  size_t loops_of_rows(const ProductMatch& product) const {
    if (form_.options.blocks) return kAllLoops;
    const bool goes_around = lies_in_rows(draft_, product.left, product.types.left, product.rows) &&
                             !is_packable(draft_, product, constants_);
    return goes_around ? 1 : kAllLoops;
  }
  size_t loops_of_columns(const ProductMatch& product) const {
    if (form_.options.blocks) return kAllLoops;
    return lies_in_rows(draft_, product.right, product.types.right, product.columns) ? 2 : kAllLoops;
  }

  /// All that the kernel does is to store the product, and the left side is read where it lies.
  bool is_output(const ProductMatch& product) const {
    return !form_.reductions && is_stored_once(draft_, stores_, product) &&
           lies_in_rows(draft_, product.left, product.types.left, product.rows);
  }

  /// The second product's columns are whole in each tile.
  Extent rows_of_stream() const {
    const Extent width = steps_of(draft_, in_order(found_.back().columns & ~common_));
    return min(Extent(tiles_.rows), max(Extent(1), floordiv(tiles_.streamed_elements, max(Extent(1), width))));
  }

  /// Rows of a left side that must be stored, beside panels: all of a block of k.
  Extent most_stored(const ProductMatch& product) const {
    const auto steps = depth_block(draft_, product, is_packable(draft_, product, constants_), tiles_).steps.constant();
    const bool is_stored = is_packable(draft_, product, constants_) &&
                           !lies_in_rows(draft_, product.left, product.types.left, product.rows);
    const int64_t room = tiles_.stored_elements * elements_for_float(product.types);
    return is_stored && steps && *steps > 0 ? Extent(std::max(kFewestRows, room / *steps)) : Extent(kMostOfOutput);
  }

  int64_t most_rows() const {
    const ProductMatch& first = found_[0];
    if (is_output(first)) return kRowsOfOutput;
    const bool left_is_stored = !lies_in_rows(draft_, first.left, first.types.left, first.rows);
    const bool right_is_stored = !lies_in_rows(draft_, first.right, first.types.right, first.columns);
    const int64_t of_all = right_is_stored && !left_is_stored ? tiles_.rows_of_stored : tiles_.rows;
    return std::max(tiles_.rows_of_many, of_all / std::ssize(found_));
  }

  /// Cut the axes of a side that the whole kernel shares.
  void tile_side(AxisSet side, Extent most, int64_t multiple, size_t loops, EvenBlocks even = {}) {
    std::vector<int> axes = in_order(side & common_ & ~tiled_ & ~result_.grid);
    if (axes.size() > loops && (side & ~common_) == 0) {
      const auto first = axes.end() - static_cast<std::ptrdiff_t>(loops);
      std::for_each(axes.begin(), first, [&](int axis) { result_.grid |= axis_bit(axis); });
      axes.erase(axes.begin(), first);
    }
    std::ranges::for_each(axes, [&](int axis) { tiled_ |= axis_bit(axis); });
    cuts_.add(axes);
    result_.grid |= cut_loops(draft_, axes, std::move(most), multiple, even);
  }

  /// Sums over long k run block by block where an operand must be stored first. Loops that others run over too are not
  /// cut.
  int cut_depth(const ProductMatch& found) {
    for (const DraftReduction& reduction : draft_.reductions) {
      if (reduction.accumulator != found.accumulator && ((reduction.axes | reduction.level) & found.depth) != 0) {
        return -1;
      }
    }
    const DepthBlock block = depth_block(draft_, found, is_packable(draft_, found, constants_), tiles_);
    if (block.axis < 0) {
      return -1;
    }
    const int blocks = tile_axis(draft_, block.axis, named_size(draft_, block.size));
    Extent& count = draft_.axis(blocks).extent;
    count = max(Extent(1), count);  // a sum over nothing is 0, too
    return blocks;
  }

  /// Where the result is stored and nothing else is done with it, as products one after the other end: no tile is
  /// needed then.
  std::optional<loops::Matrix> stored_as_it_is(const ProductMatch& found, const std::vector<int>& rows,
                                               const std::vector<int>& columns) {
    const bool is_last = draft_.reductions.size() == found_.size() && &found == &found_.back();
    if (!is_last || !is_stored_once(draft_, stores_, found)) {
      return std::nullopt;
    }
    const DraftStore& store = draft_.stores[stores_[0]];
    auto matrix = as_matrix(draft_, store.buffer, store.at, rows, columns);
    if (!matrix || matrix->column != Extent(1) ||
        draft_.kernel.buffers[static_cast<size_t>(store.buffer)].dtype != found.types.tile) {
      return std::nullopt;
    }
    result_.stores.clear();
    return matrix;
  }

  void write(const ProductMatch& found) {
    DraftProduct product;
    const std::vector<int> rows = in_order(found.rows & ~result_.grid);
    const std::vector<int> columns = in_order(found.columns & ~result_.grid);
    const std::vector<int> depth = in_order(found.depth);
    const bool packs = is_packable(draft_, found, constants_);
    auto left = in_place(draft_, found.left, found.types.left, rows, depth);
    auto right = in_place(draft_, found.right, found.types.right, depth, columns);
    if (!left || !(packs || right)) {
      product.depth_blocks = cut_depth(found);
      left = in_place(draft_, found.left, found.types.left, rows, depth);
      right = in_place(draft_, found.right, found.types.right, depth, columns);
    }
    if (!left) {
      left = stored_left(draft_, found.left, found.types.left, rows, depth, product);
    }
    product.statement.columns = columns;
    product.statement.depth = depth;
    int64_t panel = 0;
    const bool whole = is_subset(found.columns & ~result_.grid, whole_panels_);
    if (auto in_panels = packs ? packed(draft_, found, constants_, product, whole, result_.panels) : std::nullopt) {
      right = in_panels;
      panel = constants_.panel;
    } else if (!right) {
      right = stored(draft_, found.right, found.types.right, depth, columns, product);
    }
    const bool ends_stream = stream_ && &found == &found_.back();
    product.statement = {.left = *left,
                         .right = *right,
                         .tile = {},
                         .rows = rows,
                         .columns = columns,
                         .depth = depth,
                         .panel = panel,
                         .together = panel > 0 && is_byte_product(found.types) ? constants_.bytes_together : 1,
                         .adds_after = ends_stream ? stream_->blocks() : product.depth_blocks,
                         .work = work_};
    if (const auto output = ends_stream ? std::nullopt : stored_as_it_is(found, rows, columns)) {
      product.statement.tile = *output;
      result_.products.push_back(std::move(product));
      return;
    }
    const Extent width = steps_of(draft_, columns);
    loops::Matrix& tile = product.statement.tile;
    tile = {.buffer = add_scratch(draft_, found.types.tile, steps_of(draft_, rows) * width),
            .at = {},
            .row = width,
            .column = 1};
    std::unordered_map<int, int> by;
    const loops::Load of_tile{.buffer = tile.buffer,
                              .at = add(scale(step_number(draft_, rows), width), step_number(draft_, columns)),
                              .inside = {},
                              .lookups = {}};
    if (ends_stream) {
      stream_->finish(found, of_tile);
      by = stream_->results();
    } else {
      by[found.result] = draft_.values.load(of_tile, draft_.values.axes(found.result));
    }
    for (DraftStore& store : draft_.stores) {
      store.value = replaced(draft_, store.value, by);
    }
    for (const DraftReduction& reduction : draft_.reductions) {
      loops::Accumulator& accumulator = draft_.accumulator(reduction);
      if (reduction.accumulator != found.accumulator) {
        accumulator.input = replaced(draft_, accumulator.input, by);
      }
    }
    for (ProductMatch& other : found_) {
      other.left = replaced(draft_, other.left, by);
      other.right = replaced(draft_, other.right, by);
    }
    result_.products.push_back(std::move(product));
  }

  Draft& draft_;
  const std::vector<size_t>& stores_;
  const ConstantOperands& constants_;
  std::vector<ProductMatch> found_;
  const ProductForm& form_;
  const ProductTiles& tiles_ = form_.options.tiles;
  AxisSet common_ = 0;
  AxisSet tiled_ = 0;
  AxisSet whole_panels_ = 0;  // axes whose tiles are multiples of panels, of a size that sizes decide
  CutsOfSides cuts_;
  int work_ = 0;
  std::optional<ProductStream> stream_;
  TiledProducts result_;
};

}  // namespace

TiledProducts tile_products(Draft& draft, const std::vector<size_t>& stores, const ConstantOperands& constants,
                            const ProductForm& form) {
  return Tiler(draft, stores, constants, form).run();
}

}  // namespace tenon::schedule
