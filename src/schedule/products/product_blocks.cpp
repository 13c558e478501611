#include "schedule/products/product_blocks.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "schedule/options/schedule_options.h"
#include "schedule/products/product_operands.h"
#include "shape/extent_polynomial.h"

namespace tenon::schedule {
namespace {

/// So many tiles for each core, that none waits long for the others.
constexpr int64_t kTilesOfACore = 2;
/// Of a tile that is made smaller for that, at first: the code of products is as good with these. Then, as what is read
/// of the other side comes from afar where few rows or columns use it: 7 x 7 pixels by 512 channels of 4,608 terms in
/// tiles of 14 x 64 ran at a quarter of the speed of whole ones on 16 threads.
constexpr int64_t kGoodColumns = 64, kGoodRows = 48;
constexpr int64_t kLeastColumns = 32, kLeastRows = 16;
/// Formulas of sizes that are long themselves would become too long, and so would those of 197*batch, of which
/// divisions by 96 keep 2*batch apart. Products of no more than two names take two rounds of cutting; other products,
/// such as the pixels of many images, one; of sums, columns are cut whatever the sizes are.
int rounds_for(const Extent& rows, const Extent& others) {
  constexpr size_t kNames = 2;
  const algebra::TermsOf row_terms(rows);
  const algebra::TermsOf other_terms(others);
  if (row_terms.size() > 1 || other_terms.size() > 1) {
    return 0;
  }
  const bool is_plain = rows.is_constant() || row_terms.begin()->coefficient == 1;
  return is_plain && rows.names().size() + others.names().size() <= kNames ? 2 : 1;
}

Extent parts_of(const Extent& whole, const Extent& size) { return max(Extent(1), ceildiv(whole, size)); }

/// Cut in two, a part would be less than `least`.
bool is_little(const Extent& each, int64_t least) { return each.is_constant() && *each.constant() < 2 * least; }

/// Makes tiles smaller: into enough parts for so many tiles, but no more than have `least` each.
struct TileCutter {
  TileSides all;
  TileSides sides;
  bool wholes = false;  // columns are multiples of the least; else cut where they are a multiple of vectors at least

  void cut_columns(int64_t tiles, int64_t least) {
    if (!is_little(all.columns, least) && !is_little(sides.columns, least)) {
      const Extent parts = ceildiv(tiles, max(Extent(1), all.others * parts_of(all.rows, sides.rows)));
      const Extent each = ceildiv(all.columns, parts);
      sides.columns = min(sides.columns, max(Extent(least), wholes ? least * floordiv(each, least)
                                                                   : kColumnMultiple * ceildiv(each, kColumnMultiple)));
    }
  }

  void cut_rows(int64_t tiles, int64_t least) {
    if (!is_little(all.rows, least) && !is_little(sides.rows, least)) {
      const Extent parts = ceildiv(tiles, max(Extent(1), all.others * parts_of(all.columns, sides.columns)));
      const Extent most_parts = max(Extent(1), floordiv(all.rows, least));
      sides.rows = min(sides.rows, max(Extent(1), ceildiv(all.rows, min(parts, most_parts))));
    }
  }
};

/// How many blocks there may be instead of the fewest, so that as many fall to each core: more would be too small.
int64_t most_instead_of(int64_t fewest) { return fewest + std::max<int64_t>(1, fewest / 4); }

/// The widest columns up to `most` of which there is a multiple of `cores`, if there is one; else `most`.
Extent even_columns(const Extent& all, const Extent& most, int64_t cores) {
  const auto whole = all.constant();
  const auto limit = most.constant();
  if (!whole || !limit || *whole <= *limit) {
    return most;
  }
  const auto parts = [&](int64_t size) { return (*whole + size - 1) / size; };
  const int64_t fewest = parts(*limit);
  for (int64_t count = fewest; count <= most_instead_of(fewest); ++count) {
    const int64_t size = kColumnMultiple * ((parts(count) + kColumnMultiple - 1) / kColumnMultiple);
    if (size >= kGoodColumns && size <= *limit && parts(size) % cores == 0) {
      return size;
    }
  }
  return most;
}

/// Whether it is one for all sizes.
bool is_multiple(const Extent& extent, int64_t of) {
  return std::ranges::all_of(algebra::TermsOf(extent), [&](const auto& term) { return term.coefficient % of == 0; });
}

/// Columns come first: each core then reads its part of the right side alone.
TileSides tiles_for_few_cores(const TileSides& all, const TileSides& most, int64_t cores) {
  TileCutter cutter{.all = all, .sides = most};
  TileSides& sides = cutter.sides;
  sides.columns = even_columns(all.columns, most.columns, cores);
  const bool even = is_multiple(all.others, cores) || is_multiple(parts_of(all.columns, sides.columns), cores);
  if (cores == 1 || even || rounds_for(all.rows, all.others) == 0) {
    return sides;
  }
  cutter.cut_columns(cores, kGoodColumns);
  // Wide ones are cut where there are few rows.
  sides.even_rows = {.count = cores, .least = is_little(all.columns, kGoodColumns) ? kLeastRows : kGoodRows};
  return sides;
}

/// block_size() in a number of blocks that is even, where `most` is known.
Extent even_block_size(const Extent& extent, const Extent& most, const EvenBlocks& even) {
  const auto limit = most.constant();
  if (!limit) {
    return block_size(extent, most, 1);
  }
  const int64_t least = std::clamp<int64_t>(even.least, 1, std::max<int64_t>(1, *limit / 2));  // none above the limit
  if (const auto whole = extent.constant(); whole && *whole > 0) {
    const auto parts = [&](int64_t size) { return (*whole + size - 1) / size; };
    const int64_t fewest = parts(*limit);
    for (int64_t count = fewest; count <= most_instead_of(fewest); ++count) {
      const int64_t size = parts(count);
      if (parts(size) % even.count == 0 && size >= least) {
        return size;
      }
    }
    return block_size(extent, most, 1);
  }
  const Extent blocks = even.count * max(Extent(1), ceildiv(extent, even.count * most));
  const Extent most_blocks = max(Extent(1), floordiv(extent, least));
  return max(Extent(1), ceildiv(extent, min(blocks, most_blocks)));
}

}  // namespace

Extent block_size(const Extent& extent, const Extent& most, int64_t multiple) {
  if (most == Extent(1) && multiple == 1) {
    return 1;
  }
  const Extent blocks = max(Extent(1), ceildiv(extent, most));
  return max(Extent(multiple), multiple * ceildiv(ceildiv(extent, blocks), multiple));
}

int64_t cuts_of_output(int64_t cores) {
  return static_cast<int64_t>(std::ceil(std::sqrt(2.0 * static_cast<double>(cores))));
}

Extent equal_shares(const Extent& whole, int64_t cuts, int64_t least, int64_t most) {
  const Extent of_each = max(Extent(1), ceildiv(whole, cuts * most));
  return max(Extent(least), ceildiv(whole, cuts * of_each));
}

TileSides tiles_for_cores(const TileSides& all, const TileSides& most, int64_t cores) {
  const int64_t wanted = kTilesOfACore * cores;
  const auto wide = parts_of(all.columns, most.columns).constant();
  const bool is_whole = all.rows == Extent(1) && all.columns == Extent(1);
  if (is_whole) {
    return most;
  }
  if (cores <= kFewCores) {
    return tiles_for_few_cores(all, most, cores);
  }
  if (wide && *wide >= wanted) {
    return most;
  }
  TileCutter cutter{.all = all, .sides = most, .wholes = true};
  const int rounds = rounds_for(all.rows, all.others);
  if (rounds == 0) {
    return {.rows = most.rows,
            .columns = is_little(all.columns, kGoodColumns) ? most.columns : min(most.columns, Extent(kGoodColumns))};
  }
  cutter.cut_columns(wanted, rounds > 1 ? kGoodColumns : kLeastColumns);
  cutter.cut_rows(wanted, kGoodRows);
  if (rounds > 1) {
    cutter.cut_columns(wanted, kLeastColumns);
    cutter.cut_rows(cores, kLeastRows);
  }
  return cutter.sides;
}

TileSides output_tiles_for_cores(const TileSides& all, const TileSides& most, int64_t cores) {
  const int rounds = rounds_for(all.rows, all.others);
  if (cores == 1 || rounds == 0) {
    return most;
  }
  TileCutter cutter{.all = all, .sides = most};
  const int64_t wanted = cores <= kFewCores ? cores : kTilesOfACore * cores;
  cutter.cut_columns(wanted, kGoodColumns);
  cutter.cut_rows(wanted, kGoodRows);
  if (rounds > 1 && cores > kFewCores) {
    cutter.cut_columns(wanted, kLeastColumns);
    cutter.cut_rows(cores, kLeastRows);
  }
  return cutter.sides;
}

AxisSet cut_loops(Draft& draft, const std::vector<int>& axes, Extent most, int64_t multiple, EvenBlocks even) {
  std::vector<std::optional<Extent>> sizes(axes.size());
  for (size_t i = axes.size(); i-- > 0;) {
    const Extent extent = draft.axis(axes[i]).extent;
    const bool is_constant = extent.is_constant() && most.is_constant();
    const bool is_whole = is_constant && *extent.constant() <= *most.constant();
    Extent size = extent;
    // The rows of an image are cut evenly where they are cut: then there is one image in a tile.
    const bool is_even = even.count > 1 && (axes.size() == 1 || (i + 2 == axes.size() && !is_whole && is_constant));
    if (is_even) {
      size = even_block_size(extent, most, {.count = even.count, .least = axes.size() == 1 ? even.least : 1});
    } else if (!is_whole) {
      // Inside of another, tiles are whole or the other one runs once: all together they count like one axis.
      size = block_size(extent, most, axes.size() == 1 ? multiple : 1);
    }
    if (!is_whole || size != extent) {
      sizes[i] = named_size(draft, size);
    }
    most = is_even ? Extent(1) : max(Extent(1), floordiv(most, max(Extent(1), sizes[i].value_or(extent))));
  }
  AxisSet counters = 0;  // in the order of the axes, so that grids go through memory from its beginning
  for (size_t i = 0; i < axes.size(); ++i) {
    counters |= sizes[i] ? axis_bit(tile_axis(draft, axes[i], *sizes[i])) : 0;
  }
  return counters;
}

void CutsOfSides::add(const std::vector<int>& axes) {
  AxisSet all = 0;
  for (const int axis : axes) {
    all |= axis_bit(axis);
  }
  for (const int axis : axes) {
    together_[axis] = all;
  }
}

bool CutsOfSides::count_as_one(Draft& draft, const std::vector<int>& side) const {
  AxisSet outer = 0;
  for (const int axis : side) {
    const loops::Axis& tile = draft.axis(axis);
    const auto size = tile.extent.constant();
    const auto total = tile.total.constant();
    const bool always_whole = tile.tile_of < 0 || (size && total && *size > 0 && *total % *size == 0);
    const auto cut = together_.find(axis);
    if (outer != 0 && !always_whole && (cut == together_.end() || !is_subset(outer, cut->second))) {
      return false;
    }
    outer |= axis_bit(axis);
  }
  return true;
}

int64_t elements_for_float(const ProductTypes& types) {
  return is_byte_product(types) ? static_cast<int64_t>(sizeof(float)) : 1;
}

DepthBlock depth_block(const Draft& draft, const ProductMatch& product, bool packs, const ProductTiles& tiles) {
  const std::vector<int> axes = in_order(product.depth);
  const auto all = steps_of(draft, axes).constant();
  const auto axis_of = [&](int axis) -> const loops::Axis& { return draft.kernel.axes[static_cast<size_t>(axis)]; };
  const int64_t most_steps = (packs ? tiles.depth_of_packed : tiles.depth) * elements_for_float(product.types);
  if (all && *all <= most_steps) {
    return {.axis = -1, .size = 0, .steps = *all};
  }
  // Blocks of the outermost loop may differ. Where what is inside of it is too much already, or panels are made of
  // them, equal blocks of the longest loop will do.
  const auto inside = steps_of(draft, {axes.begin() + 1, axes.end()}).constant();
  if (all && (packs || *inside > most_steps)) {
    const int longest = *std::ranges::max_element(axes, {}, [&](int axis) { return *axis_of(axis).extent.constant(); });
    const int64_t extent = *axis_of(longest).extent.constant();
    const int64_t others = *all / extent;
    for (int64_t size = std::max<int64_t>(1, most_steps / others); size * others * 2 > most_steps; --size) {
      if (extent % size == 0) {
        return {.axis = longest, .size = size, .steps = size * others};
      }
    }
  }
  const Extent inner = steps_of(draft, {axes.begin() + 1, axes.end()});
  const Extent most = max(Extent(1), floordiv(tiles.depth * elements_for_float(product.types), max(Extent(1), inner)));
  const Extent size = block_size(axis_of(axes[0]).extent, most, 1);
  return {.axis = axes[0], .size = size, .steps = size * inner};
}

}  // namespace tenon::schedule
