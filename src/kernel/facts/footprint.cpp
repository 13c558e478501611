#include "kernel/facts/footprint.h"

#include <algorithm>

#include "kernel/loop/loop_walk.h"
#include "tenon/assumptions.h"

namespace tenon::loops {
namespace {

constexpr size_t kMostRanges = 8;

bool is_negative_or_zero(const Extent& extent) {
  const auto known = extent.constant();
  return known ? *known <= 0 : proves_at_least(0, extent);
}

bool is_positive_or_zero(const Extent& extent) {
  const auto known = extent.constant();
  return known ? *known >= 0 : proves_at_least(extent, 0);
}

Extent smaller(const Extent& a, const Extent& b) {
  return is_positive_or_zero(b - a) ? a : is_negative_or_zero(b - a) ? b : min(a, b);
}

Extent larger(const Extent& a, const Extent& b) {
  return is_positive_or_zero(a - b) ? a : is_negative_or_zero(a - b) ? b : max(a, b);
}

/// Of positions that depend on different axes: at most one of them moves with the axis that is cut into ranges.
Touched sum(const Touched& a, const Touched& b) {
  const auto both = [](const std::optional<Extent>& limit, const Extent& a_end, const std::optional<Extent>& other,
                       const Extent& b_end) -> std::optional<Extent> {
    if (!limit && !other) {
      return std::nullopt;
    }
    return (limit ? *limit : a_end) + (other ? *other : b_end);
  };
  return {.first = a.first + b.first,
          .last = a.last + b.last,
          .step = a.step + b.step,
          .item_step = a.item_step + b.item_step,
          .least = both(a.least, a.first, b.least, b.first),
          .most = both(a.most, a.last, b.most, b.last)};
}

Touched scaled(const Touched& t, const Extent& by) {
  const bool turns = is_negative_or_zero(by);
  const auto limit = [&](const std::optional<Extent>& end) { return end ? std::optional(*end * by) : std::nullopt; };
  return {.first = (turns ? t.last : t.first) * by,
          .last = (turns ? t.first : t.last) * by,
          .step = t.step * by,
          .item_step = t.item_step * by,
          .least = limit(turns ? t.most : t.least),
          .most = limit(turns ? t.least : t.most)};
}

/// What of it lies in [0, size).
Touched within(Touched t, const Extent& size) {
  if (t.step == Extent(0)) {
    t.first = larger(t.first, 0);
    t.last = smaller(t.last, size - 1);
    return t;
  }
  t.least = t.least ? larger(*t.least, 0) : Extent(0);
  t.most = t.most ? smaller(*t.most, size - 1) : size - 1;
  return t;
}

/// One range in place of two that move alike, and of what is between them. Where one has a limit, that of the other is
/// where its first or its last row ends.
Touched hull(const Touched& a, const Touched& b, const Extent& last_row) {
  const Extent back = smaller(0, a.step * last_row);
  const Extent ahead = larger(0, a.step * last_row);
  Touched both{
      .first = smaller(a.first, b.first), .last = larger(a.last, b.last), .step = a.step, .item_step = a.item_step};
  if (a.least || b.least) {
    both.least = smaller(a.least.value_or(a.first + back), b.least.value_or(b.first + back));
  }
  if (a.most || b.most) {
    both.most = larger(a.most.value_or(a.last + ahead), b.most.value_or(b.last + ahead));
  }
  return both;
}

/// One range for all that move alike, such as the sixteen pixels of a square.
std::vector<Touched> joined(const std::vector<Touched>& ranges, const Extent& last_row) {
  std::vector<Touched> result;
  for (const Touched& range : ranges) {
    const auto alike = std::ranges::find_if(
        result, [&](const Touched& each) { return each.step == range.step && each.item_step == range.item_step; });
    if (alike == result.end()) {
      result.push_back(range);
    } else {
      *alike = hull(*alike, range, last_row);
    }
  }
  return result;
}

const Term* find_axis(const std::vector<Term>& terms, int axis) {
  const auto found = std::ranges::find(terms, axis, &Term::axis);
  return found == terms.end() ? nullptr : &*found;
}

void erase_axis(std::vector<Term>& terms, int axis) {
  std::erase_if(terms, [&](const Term& term) { return term.axis == axis; });
}

/// How far positions reach while all axes run.
class Reach {
 public:
  Reach(const Kernel& kernel, const RowAxes& rows) : kernel_(kernel), rows_(rows) {}

  /// Nothing where the sign of a stride is not known, or where a bound is on items.
  std::optional<Touched> of(Affine at, const std::vector<Bound>& inside) const {
    Touched reached{.first = 0, .last = 0};
    for (const Bound& bound : inside) {
      const auto stride = stride_of(bound.index, at);
      const auto index = stride ? of(bound.index, {}) : std::nullopt;
      if (!index) {
        continue;
      }
      if (index->item_step != Extent(0)) {
        return std::nullopt;
      }
      reached = sum(reached, scaled(within(*index, bound.size), *stride));
      at.base -= bound.index.base * *stride;
      for (const Term& term : bound.index.terms) {
        erase_axis(at.terms, term.axis);
      }
    }
    while (!at.terms.empty()) {
      const Term term = next(at.terms);
      if (!is_positive_or_zero(term.scale) && !is_negative_or_zero(term.scale)) {
        return std::nullopt;
      }
      reached = sum(reached, scaled(take(at.terms, term), term.scale));
    }
    return sum(reached, {.first = at.base, .last = at.base});
  }

 private:
  const Axis& axis(int i) const { return kernel_.axes.at(static_cast<size_t>(i)); }

  /// By how much a position grows with an index that all of its axes enter by; nothing when it is no part of it.
  static std::optional<Extent> stride_of(const Affine& index, const Affine& at) {
    if (index.terms.empty()) {
      return std::nullopt;
    }
    const Term* const first = find_axis(at.terms, index.terms.front().axis);
    const auto stride = first == nullptr ? std::nullopt : divide_exactly(first->scale, index.terms.front().scale);
    const bool is_part = stride && (is_positive_or_zero(*stride) || is_negative_or_zero(*stride)) &&
                         std::ranges::all_of(index.terms, [&](const Term& term) {
                           const Term* const found = find_axis(at.terms, term.axis);
                           return found != nullptr && found->scale == *stride * term.scale;
                         });
    return is_part ? stride : std::nullopt;
  }

  /// Tiles before the axes that count them.
  Term next(const std::vector<Term>& terms) const {
    const auto tile = std::ranges::find_if(terms, [&](const Term& term) { return axis(term.axis).tile_of >= 0; });
    return tile == terms.end() ? terms.front() : *tile;
  }

  /// The values that an axis takes; a tile takes the axis that counts it along, where both go over the same elements.
  Touched take(std::vector<Term>& terms, const Term& term) const {
    const Axis& taken = axis(term.axis);
    erase_axis(terms, term.axis);
    if (taken.tile_of >= 0) {
      const Term* const tiles = find_axis(terms, taken.tile_of);
      if (tiles == nullptr || tiles->scale != taken.extent * term.scale) {
        return {.first = 0, .last = smaller(taken.extent, taken.total) - 1};
      }
      erase_axis(terms, taken.tile_of);
      if (taken.tile_of == rows_.item) {  // of the last item, rows that are behind its end are named, too
        return {.first = 0, .last = smaller(taken.extent, taken.total) - 1, .item_step = taken.extent};
      }
      if (taken.tile_of == rows_.axis) {
        return within({.first = 0, .last = taken.extent - 1, .step = taken.extent}, taken.total);
      }
      return {.first = 0, .last = taken.total - 1};
    }
    if (term.axis == rows_.item) {
      return {.first = 0, .last = 0, .item_step = 1};
    }
    return term.axis == rows_.axis ? Touched{.first = 0, .last = 0, .step = 1}
                                   : Touched{.first = 0, .last = taken.extent - 1};
  }

  const Kernel& kernel_;
  RowAxes rows_;
};

class FootprintWalk {
 public:
  FootprintWalk(const Kernel& kernel, const RowAxes& rows)
      : kernel_(kernel),
        reach_(kernel, rows),
        last_row_(rows.axis < 0 ? Extent(0) : kernel.axes.at(static_cast<size_t>(rows.axis)).extent - 1),
        uses_(kernel.buffers.size()) {}

  std::vector<BufferUse> run(const Phase& phase) {
    for_each_statement(phase.body, [&](const Statement& statement) {
      if (const auto* define = std::get_if<Define>(&statement.what)) {
        const Value& value = kernel_.values.at(static_cast<size_t>(define->value));
        if (const auto* load = std::get_if<Load>(&value.what)) {
          add(use(load->buffer).reads, load->buffer, load->at, load->inside, load->lookups.empty());
        }
      } else if (const auto* store = std::get_if<Store>(&statement.what)) {
        add(use(store->buffer).writes, store->buffer, store->at, store->inside);
      } else if (const auto* product = std::get_if<Product>(&statement.what)) {
        add_product(*product);
      }
    });
    return std::move(uses_);
  }

 private:
  BufferUse& use(int buffer) { return uses_.at(static_cast<size_t>(buffer)); }

  void add_product(const Product& product) {
    add(use(product.left.buffer).reads, product.left, product.rows, product.depth);
    add(use(product.right.buffer).reads, product.right, product.depth, product.columns, product.panel == 0);
    add(use(product.tile.buffer).writes, product.tile, product.rows, product.columns);
    if (product.adds_after >= 0) {
      add(use(product.tile.buffer).reads, product.tile, product.rows, product.columns);
    }
  }

  void add(Footprint& to, const Matrix& matrix, const std::vector<int>& rows, const std::vector<int>& columns,
           bool known = true) {
    Affine at = matrix.at;
    add_terms(at, rows, matrix.row);
    add_terms(at, columns, matrix.column);
    add(to, matrix.buffer, std::move(at), {}, known);
  }

  /// Several axes count as one, the last fastest.
  void add_terms(Affine& at, const std::vector<int>& axes, Extent scale) const {
    for (size_t i = axes.size(); i-- > 0;) {
      if (scale != Extent(0)) {
        at.terms.push_back({.axis = axes[i], .scale = scale});
      }
      scale *= kernel_.axes.at(static_cast<size_t>(axes[i])).extent;
    }
  }

  void add(Footprint& to, int buffer, Affine at, const std::vector<Bound>& inside, bool known = true) {
    if (kernel_.buffers.at(static_cast<size_t>(buffer)).role == Role::scratch || to.whole) {
      return;
    }
    const auto reached = known ? reach_.of(std::move(at), inside) : std::nullopt;
    if (!reached) {
      to = {.whole = true};
      return;
    }
    if (std::ranges::find(to.ranges, *reached) != to.ranges.end()) {
      return;
    }
    to.ranges.push_back(*reached);
    if (to.ranges.size() > kMostRanges) {
      to.ranges = joined(to.ranges, last_row_);
    }
    if (to.ranges.size() > kMostRanges) {
      to = {.whole = true};
    }
  }

  const Kernel& kernel_;
  Reach reach_;
  Extent last_row_;
  std::vector<BufferUse> uses_;
};

/// No two rows of an item touch the same elements, or elements between those of another.
bool keeps_rows_apart(const Footprint& footprint) {
  return std::ranges::all_of(footprint.ranges, [](const Touched& range) {
    return is_positive_or_zero(range.step - 1 - (range.last - range.first));
  });
}

/// Every row of an item touches what the others do.
bool repeats_items(const Footprint& footprint) {
  return std::ranges::any_of(
      footprint.ranges, [](const Touched& range) { return range.step == Extent(0) && range.item_step != Extent(0); });
}

bool names_more(const BufferUse& use, const BufferUse& other) {
  return (use.reads.whole && !other.reads.whole) || (use.writes.whole && !other.writes.whole);
}

}  // namespace

Extent first_touched(const Touched& touched, const Extent& item, const Extent& begin, const Extent& end) {
  const Extent first = touched.first + min(touched.step * begin, touched.step * (end - 1));
  return item * touched.item_step + (touched.least ? max(first, *touched.least) : first);
}

Extent last_touched(const Touched& touched, const Extent& item, const Extent& begin, const Extent& end) {
  const Extent last = touched.last + max(touched.step * begin, touched.step * (end - 1));
  return item * touched.item_step + (touched.most ? min(last, *touched.most) : last);
}

std::vector<BufferUse> footprints(const Kernel& kernel, const Phase& phase, const RowAxes& rows) {
  return FootprintWalk(kernel, rows).run(phase);
}

RowAxes row_axes(const Kernel& kernel, const Phase& phase) {
  const RowAxes first{.axis = phase.grid.empty() ? -1 : phase.grid.front()};
  if (phase.grid.size() < 2) {
    return first;
  }
  // Columns of a product are no rows: each of their tiles reads the same rows, and what they write lies between.
  const RowAxes second{.item = phase.grid[0], .axis = phase.grid[1]};
  const std::vector<BufferUse> uses = footprints(kernel, phase, second);
  const bool are_rows = std::ranges::all_of(uses, [](const BufferUse& use) { return keeps_rows_apart(use.writes); }) ||
                        std::ranges::none_of(uses, [](const BufferUse& use) { return repeats_items(use.reads); });
  return are_rows && std::ranges::equal(uses, footprints(kernel, phase, first),
                                        [](const BufferUse& a, const BufferUse& b) { return !names_more(a, b); })
             ? second
             : first;
}

}  // namespace tenon::loops
