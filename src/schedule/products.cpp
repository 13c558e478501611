#include "schedule/products.h"

#include <algorithm>
#include <optional>

#include "schedule/refusal.h"
#include "schedule/tree.h"

namespace tenon {
namespace {

/// Rows and columns of a tile: enough that each element of both operands is used often, few enough that the tile stays
/// in cache and every thread gets some. kDepth steps of k of an operand that is stored first.
constexpr int64_t kRows = 384;
constexpr int64_t kColumns = 256;
constexpr int64_t kColumnMultiple = 32;
constexpr int64_t kFewestRows = 4;
constexpr int64_t kTileElements = int64_t{1} << 15;
constexpr int64_t kDepth = 512;

/// A reduction that is a product: two values, and the axes that one of them, the other or both depend on.
struct Found {
  int accumulator = 0;
  int result = 0;
  ProductTypes types;
  int left = 0, right = 0;
  AxisSet batch = 0, rows = 0, columns = 0, depth = 0;
};

const loops::Load* plain_load(const Draft& draft, int value) {
  const auto* load = std::get_if<loops::Load>(&draft.value(value).what);
  return load && load->inside.empty() && load->lookups.empty() ? load : nullptr;
}

Dtype stored_dtype(const Draft& draft, const loops::Load& load) {
  return draft.kernel.buffers[static_cast<size_t>(load.buffer)].dtype;
}

/// What an operand is before it was widened: a value, and the dtype that it has in memory.
std::pair<int, Dtype> narrow(const Draft& draft, int value) {
  const auto* compute = std::get_if<loops::Compute>(&draft.value(value).what);
  const int source = compute && compute->prim == Prim::cast ? compute->operands[0] : value;
  const loops::Load* load = plain_load(draft, source);
  return load ? std::pair(source, stored_dtype(draft, *load)) : std::pair(value, draft.value(value).dtype);
}

std::optional<Found> as_product(const Draft& draft, const DraftReduction& reduction) {
  const loops::Accumulator& sum = draft.kernel.accumulators[static_cast<size_t>(reduction.accumulator)];
  const auto* compute = std::get_if<loops::Compute>(&draft.value(sum.input).what);
  if (sum.op != ReduceOp::sum || !compute || compute->prim != Prim::mul) {
    return std::nullopt;
  }
  Found found{.accumulator = reduction.accumulator,
              .result = reduction.result,
              .types = {.left = sum.dtype, .right = sum.dtype, .tile = sum.dtype},
              .left = compute->operands[0],
              .right = compute->operands[1],
              .depth = reduction.axes};
  const auto [left_value, left_dtype] = narrow(draft, found.left);
  const auto [right_value, right_dtype] = narrow(draft, found.right);
  if (const ProductTypes types{.left = left_dtype, .right = right_dtype, .tile = sum.dtype}; is_product(types)) {
    found.types = types;
    found.left = left_value;
    found.right = right_value;
  }
  if (!is_product(found.types)) {
    return std::nullopt;
  }
  const AxisSet left = draft.values.axes(found.left);
  const AxisSet right = draft.values.axes(found.right);
  found.rows = left & ~right;
  found.columns = right & ~left;
  found.batch = left & right & ~found.depth;
  const bool is_whole = is_subset(found.depth, left & right) && found.rows != 0 && found.columns != 0;
  return is_whole ? std::optional(found) : std::nullopt;
}

std::vector<int> in_order(AxisSet set) {
  std::vector<int> axes;
  for (int axis = 0; axis < 64; ++axis) {
    if (contains(set, axis)) {
      axes.push_back(axis);
    }
  }
  return axes;
}

/// Cuts axes of a size that is not known into blocks of about `most`, all nearly as large.
Extent block_size(const Extent& extent, const Extent& most, int64_t multiple) {
  const Extent blocks = max(Extent(1), ceildiv(extent, most));
  return max(Extent(multiple), multiple * ceildiv(ceildiv(extent, blocks), multiple));
}

class Tiler {
 public:
  Tiler(Draft& draft, const std::vector<size_t>& stores, const ConstantOperands& constants)
      : draft_(draft), stores_(stores), constants_(constants) {}

  TiledProducts run() {
    for (const DraftReduction& reduction : draft_.reductions) {
      if (auto found = as_product(draft_, reduction)) {
        found_.push_back(*found);
      }
    }
    if (found_.empty()) {
      return {};
    }
    common_ = common_axes(draft_, stores_);
    AxisSet free = 0;
    AxisSet batch = 0;
    for (Found& product : found_) {
      require_tiles(product);
      orient(product);
      free |= product.rows | product.columns;
      batch |= product.batch;
    }
    require_no_other_loops();
    result_.stores = stores_;
    result_.grid = common_ & (~free | batch);
    for (const Found& product : found_) {
      tile(product);
    }
    for (const Found& product : found_) {
      if (!is_subset(result_.grid, draft_.values.axes(product.result))) {
        throw Refusal{"a product would be computed again and again", {}};
      }
    }
    work_ = add_scratch(Dtype::u8, kProductScratchBytes);
    for (const Found& product : found_) {
      write(product);
    }
    result_.around = result_.grid;
    for (const DraftProduct& product : result_.products) {
      result_.around |= product.depth_blocks >= 0 ? axis_bit(product.depth_blocks) : 0;
    }
    std::erase_if(draft_.reductions, [&](const DraftReduction& reduction) {
      return std::ranges::find(found_, reduction.accumulator, &Found::accumulator) != found_.end();
    });
    return std::move(result_);
  }

 private:
  /// What one thread computes at once must be little, and there must be something for every thread.
  void require_tiles(const Found& product) const {
    if (!is_subset(product.batch, common_)) {
      throw Refusal{"a reduction over the results of many products", {}};
    }
    const auto is_whole = [&](AxisSet side) {
      const auto size = elements(in_order(side & ~common_)).constant();
      return !size || *size > kColumns;
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
    for (const Found& product : found_) {
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

  /// The elements of a row of the tile lie side by side: so should those of what is stored, or read next as rows.
  void orient(Found& product) const {
    const auto score = [&](AxisSet side) {
      int sum = (side & ~common_) != 0 ? 1 : 0;
      for (const size_t store : stores_) {
        for (const int axis : in_order(side)) {
          sum += scale_along(draft_.stores[store].at, axis) == Extent(1) ? 2 : 0;
        }
      }
      return sum;
    };
    if (score(product.rows) > score(product.columns)) {
      std::swap(product.left, product.right);
      std::swap(product.types.left, product.types.right);
      std::swap(product.rows, product.columns);
    }
  }

  const loops::Load* plain_load(int value, Dtype dtype) const {
    const loops::Load* load = tenon::plain_load(draft_, value);
    return load && stored_dtype(draft_, *load) == dtype ? load : nullptr;
  }

  /// Elements lie side by side along k, or along the innermost axis of the side.
  bool is_usable(int value, Dtype dtype, AxisSet side) const {
    const loops::Load* load = plain_load(value, dtype);
    return load && std::ranges::any_of(load->at.terms, [&](const loops::Term& term) {
             return term.scale == Extent(1) && (!contains(side, term.axis) || term.axis == in_order(side).back());
           });
  }

  Extent elements(const std::vector<int>& axes) const {
    Extent product = 1;
    for (const int axis : axes) {
      product *= draft_.kernel.axes[static_cast<size_t>(axis)].extent;
    }
    return product;
  }

  void tile(const Found& product) {
    const Extent whole_columns = elements(in_order(product.columns & ~common_));
    const Extent whole_rows = elements(in_order(product.rows & ~common_));
    const auto most = [&](int64_t usual, const Extent& whole) {
      return whole == Extent(1) ? Extent(usual)
                                : min(usual, max(kFewestRows, floordiv(kTileElements, max(Extent(1), whole))));
    };
    tile_side(product.rows, most(kRows, whole_columns), 1, is_usable(product.left, product.types.left, product.rows));
    tile_side(product.columns, most(kColumns, whole_rows), std::max(kColumnMultiple, constants_.panel),
              is_usable(product.right, product.types.right, product.columns));
  }

  /// Cut the axes of a side that the whole kernel shares: the innermost ones are whole as long as they fit. One loop is
  /// enough for what can be read in place; the others go around.
  void tile_side(AxisSet side, Extent most, int64_t multiple, bool is_plain) {
    std::vector<int> axes = in_order(side & common_ & ~tiled_ & ~result_.grid);
    if (is_plain && axes.size() > 1 && (side & ~common_) == 0) {
      for (size_t i = 0; i + 1 < axes.size(); ++i) {
        result_.grid |= axis_bit(axes[i]);
      }
      axes.erase(axes.begin(), axes.end() - 1);
    }
    for (size_t i = axes.size(); i-- > 0;) {
      const int axis = axes[i];
      const Extent extent = draft_.axis(axis).extent;
      tiled_ |= axis_bit(axis);
      if (!(extent.is_constant() && most.is_constant() && *extent.constant() <= *most.constant())) {
        // Inside of another, tiles are whole or the other one runs once: all together they count like one axis.
        const Extent size = named_size(draft_, i == 0 ? block_size(extent, most, axes.size() == 1 ? multiple : 1)
                                                      : max(Extent(1), min(extent, most)));
        result_.grid |= axis_bit(tile_axis(draft_, axis, size));
      }
      most = max(Extent(1), floordiv(most, max(Extent(1), draft_.axis(axis).extent)));
    }
  }

  int add_scratch(Dtype dtype, const Extent& size) {
    draft_.kernel.buffers.push_back({.dtype = dtype, .role = loops::Role::scratch, .elements = size});
    return static_cast<int>(draft_.kernel.buffers.size()) - 1;
  }

  /// How far apart the steps over all of these axes lie, if that is the same everywhere.
  std::optional<Extent> stride(const loops::Affine& at, const std::vector<int>& axes) const {
    for (size_t i = 0; i + 1 < axes.size(); ++i) {
      const Extent inner = scale_along(at, axes[i + 1]) * draft_.kernel.axes[static_cast<size_t>(axes[i + 1])].extent;
      if (scale_along(at, axes[i]) != inner) {
        return std::nullopt;
      }
    }
    return axes.empty() ? Extent(0) : scale_along(at, axes.back());
  }

  static loops::Affine without(loops::Affine at, const std::vector<int>& axes) {
    std::erase_if(at.terms, [&](const loops::Term& term) { return std::ranges::find(axes, term.axis) != axes.end(); });
    return at;
  }

  loops::Affine count(const std::vector<int>& axes) const {
    loops::Affine at;
    for (const int axis : axes) {
      at = add(scale(at, draft_.kernel.axes[static_cast<size_t>(axis)].extent), affine_axis(axis));
    }
    return at;
  }

  /// The operand where it lies, if it lies in rows and columns.
  std::optional<loops::Matrix> in_place(int value, Dtype dtype, const std::vector<int>& rows,
                                        const std::vector<int>& columns) const {
    const loops::Load* load = plain_load(value, dtype);
    if (!load) {
      return std::nullopt;
    }
    const auto row = stride(load->at, rows);
    const auto column = stride(load->at, columns);
    if (!row || !column) {
      return std::nullopt;
    }
    return loops::Matrix{
        .buffer = load->buffer, .at = without(without(load->at, rows), columns), .row = *row, .column = *column};
  }

  loops::Matrix stored(int value, Dtype dtype, const std::vector<int>& rows, const std::vector<int>& columns,
                       DraftProduct& product) {
    const Extent width = elements(columns);
    const int buffer = add_scratch(dtype, elements(rows) * width);
    product.operands.push_back(draft_.stores.size());
    draft_.stores.push_back({.buffer = buffer,
                             .at = add(scale(count(rows), width), count(columns)),
                             .value = value,
                             .axes = draft_.values.axes(value)});
    return {.buffer = buffer, .at = {}, .row = width, .column = 1};
  }

  /// Sums over long k run block by block where an operand must be stored first. Loops that others run over too are not
  /// cut.
  int cut_depth(const Found& found) {
    for (const DraftReduction& reduction : draft_.reductions) {
      if (reduction.accumulator != found.accumulator && ((reduction.axes | reduction.level) & found.depth) != 0) {
        return -1;
      }
    }
    const std::vector<int> axes = in_order(found.depth);
    const Extent inner = elements({axes.begin() + 1, axes.end()});
    if (const auto all = elements(axes).constant(); all && *all <= 2 * kDepth) {
      return -1;
    }
    const Extent most = max(Extent(1), floordiv(kDepth, max(Extent(1), inner)));
    const Extent size = named_size(draft_, block_size(draft_.axis(axes[0]).extent, most, 1));
    const int blocks = tile_axis(draft_, axes[0], size);
    Extent& count = draft_.axis(blocks).extent;
    count = max(Extent(1), count);  // a sum over nothing is 0, too
    return blocks;
  }

  /// All elements along an axis, of which the loop may run over a tile.
  std::optional<int64_t> total(int axis) const {
    const loops::Axis& a = draft_.kernel.axes[static_cast<size_t>(axis)];
    return (a.tile_of < 0 ? a.extent : a.total).constant();
  }

  /// Lay a constant right operand out as the product reads it, where it is read by nothing else.
  void pack_constant(const Found& found, DraftProduct& product) {
    loops::Matrix& right = product.statement.right;
    const bool is_constant =
        constants_.panel > 0 && found.types == ProductTypes{} && constants_.is_constant(right.buffer);
    if (!is_constant || product.statement.columns.size() != 1 || is_read_elsewhere(right.buffer, found.right)) {
      return;
    }
    const int column = product.statement.columns[0];
    const auto columns = total(column);
    const auto row = right.row.constant();
    const auto apart = right.column.constant();
    const auto base = right.at.base.constant();
    int64_t depth = 1;
    for (const int axis : product.statement.depth) {
      depth *= total(axis).value_or(0);
    }
    if (!columns || !row || !apart || !base || depth == 0 || *columns == 0) {
      return;
    }
    // Tiles of columns begin with a panel, blocks of k anywhere.
    loops::Affine at;
    const int64_t panel = constants_.panel;
    for (const loops::Term& term : right.at.terms) {
      const bool counts_columns = term.axis == draft_.axis(column).tile_of;
      const bool counts_depth = term.axis == product.depth_blocks;
      const auto step = divide_exactly(term.scale, counts_columns ? *apart : *row);
      if (!(counts_columns || counts_depth) || !step || !step->constant() ||
          (counts_columns && *step->constant() % panel != 0)) {
        return;
      }
      at = add(at, scale(affine_axis(term.axis), *step * (counts_columns ? depth : panel)));
    }
    result_.panels[right.buffer] = {
        .panel = panel, .depth = depth, .columns = *columns, .base = *base, .row = *row, .column = *apart};
    right = {.buffer = right.buffer, .at = at, .row = panel, .column = depth * panel};
    product.statement.panel = panel;
  }

  bool is_read_elsewhere(int buffer, int by) const {
    for (size_t i = 0; i < draft_.kernel.values.size(); ++i) {
      const auto* load = std::get_if<loops::Load>(&draft_.kernel.values[i].what);
      if (load && load->buffer == buffer && static_cast<int>(i) != by) {
        return true;
      }
    }
    return false;
  }

  /// Where the result is stored and nothing else is done with it: no tile is needed then.
  std::optional<loops::Matrix> stored_as_it_is(const Found& found, const std::vector<int>& rows,
                                               const std::vector<int>& columns) {
    if (draft_.reductions.size() != 1 || stores_.size() != 1 || draft_.stores[stores_[0]].value != found.result) {
      return std::nullopt;
    }
    const DraftStore& store = draft_.stores[stores_[0]];
    const auto row = stride(store.at, rows);
    const auto column = stride(store.at, columns);
    if (!row || !column || *column != Extent(1) ||
        draft_.kernel.buffers[static_cast<size_t>(store.buffer)].dtype != found.types.tile) {
      return std::nullopt;
    }
    result_.stores.clear();
    return loops::Matrix{
        .buffer = store.buffer, .at = without(without(store.at, rows), columns), .row = *row, .column = 1};
  }

  void write(const Found& found) {
    DraftProduct product;
    const std::vector<int> rows = in_order(found.rows & ~result_.grid);
    const std::vector<int> columns = in_order(found.columns & ~result_.grid);
    const std::vector<int> depth = in_order(found.depth);
    auto left = in_place(found.left, found.types.left, rows, depth);
    auto right = in_place(found.right, found.types.right, depth, columns);
    if (!left || !right) {
      product.depth_blocks = cut_depth(found);
      left = in_place(found.left, found.types.left, rows, depth);
      right = in_place(found.right, found.types.right, depth, columns);
    }
    if (!left) {
      left = stored(found.left, found.types.left, rows, depth, product);
    }
    if (!right) {
      right = stored(found.right, found.types.right, depth, columns, product);
    }
    product.statement = {.left = *left,
                         .right = *right,
                         .tile = {},
                         .rows = rows,
                         .columns = columns,
                         .depth = depth,
                         .adds_after = product.depth_blocks,
                         .work = work_};
    pack_constant(found, product);
    if (const auto output = stored_as_it_is(found, rows, columns)) {
      product.statement.tile = *output;
      result_.products.push_back(std::move(product));
      return;
    }
    const Extent width = elements(columns);
    loops::Matrix& tile = product.statement.tile;
    tile = {.buffer = add_scratch(found.types.tile, elements(rows) * width), .at = {}, .row = width, .column = 1};
    std::unordered_map<int, int> by;
    by[found.result] = draft_.values.load(
        {.buffer = tile.buffer, .at = add(scale(count(rows), width), count(columns)), .inside = {}, .lookups = {}},
        draft_.values.axes(found.result));
    for (DraftStore& store : draft_.stores) {
      store.value = replaced(draft_, store.value, by);
    }
    for (const DraftReduction& reduction : draft_.reductions) {
      loops::Accumulator& accumulator = draft_.accumulator(reduction);
      if (reduction.accumulator != found.accumulator) {
        accumulator.input = replaced(draft_, accumulator.input, by);
      }
    }
    for (Found& other : found_) {
      other.left = replaced(draft_, other.left, by);
      other.right = replaced(draft_, other.right, by);
    }
    result_.products.push_back(std::move(product));
  }

  Draft& draft_;
  const std::vector<size_t>& stores_;
  const ConstantOperands& constants_;
  std::vector<Found> found_;
  AxisSet common_ = 0;
  AxisSet tiled_ = 0;
  int work_ = 0;
  TiledProducts result_;
};

}  // namespace

TiledProducts tile_products(Draft& draft, const std::vector<size_t>& stores, const ConstantOperands& constants) {
  return Tiler(draft, stores, constants).run();
}

}  // namespace tenon
