#include "schedule/products/product_operands.h"

#include <algorithm>
#include <limits>

#include "schedule/products/own_loops.h"

namespace tenon::schedule {

std::vector<int> in_order(AxisSet set) {
  std::vector<int> axes;
  for (int axis = 0; axis < 64; ++axis) {
    if (contains(set, axis)) {
      axes.push_back(axis);
    }
  }
  return axes;
}

const loops::Load* plain_load(const Draft& draft, int value) {
  const auto* load = std::get_if<loops::Load>(&draft.value(value).what);
  return load && load->inside.empty() && load->lookups.empty() ? load : nullptr;
}

namespace {

const loops::Axis& axis_of(const Draft& draft, int axis) { return draft.kernel.axes[static_cast<size_t>(axis)]; }

const loops::Load* plain_load(const Draft& draft, int value, Dtype dtype) {
  const loops::Load* load = plain_load(draft, value);
  return load && draft.kernel.buffers[static_cast<size_t>(load->buffer)].dtype == dtype ? load : nullptr;
}

/// How far apart the steps over all of these axes lie, if that is the same everywhere.
std::optional<Extent> stride(const Draft& draft, const loops::Affine& at, const std::vector<int>& axes) {
  for (size_t i = 0; i + 1 < axes.size(); ++i) {
    if (scale_along(at, axes[i]) != scale_along(at, axes[i + 1]) * axis_of(draft, axes[i + 1]).extent) {
      return std::nullopt;
    }
  }
  return axes.empty() ? Extent(0) : scale_along(at, axes.back());
}

void remove_terms(loops::Affine& at, const std::vector<int>& axes) {
  std::erase_if(at.terms, [&](const loops::Term& term) { return std::ranges::find(axes, term.axis) != axes.end(); });
}

/// All elements along an axis, of which the loop may run over a tile.
std::optional<int64_t> total(const Draft& draft, int axis) {
  const loops::Axis& a = axis_of(draft, axis);
  return (a.tile_of < 0 ? a.extent : a.total).constant();
}

bool is_read_elsewhere(const Draft& draft, int buffer, int by) {
  for (size_t i = 0; i < draft.kernel.values.size(); ++i) {
    const auto* load = std::get_if<loops::Load>(&draft.kernel.values[i].what);
    if (load && load->buffer == buffer && static_cast<int>(i) != by) {
      return true;
    }
  }
  return false;
}

/// The least distance in memory between elements that follow each other along one of these axes, of what the value is
/// made of. Axes too short for vectors do not count, nor do distances that are not known.
int64_t distance_along(const Draft& draft, int value, const std::vector<int>& axes) {
  constexpr int64_t kLeastElements = 8;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const int each : ingredients_of(draft, {value})) {
    const auto* load = std::get_if<loops::Load>(&draft.value(each).what);
    for (const int axis : load ? axes : std::vector<int>{}) {
      const auto size = total(draft, axis);
      const auto apart = scale_along(load->at, axis).constant();
      if (apart && *apart > 0 && (!size || *size >= kLeastElements)) {
        least = std::min(least, *apart);
      }
    }
  }
  return least;
}

}  // namespace

bool lies_in_rows(const Draft& draft, int value, Dtype dtype, AxisSet side) {
  const loops::Load* load = plain_load(draft, value, dtype);
  return load && std::ranges::any_of(load->at.terms, [&](const loops::Term& term) {
           return term.scale == Extent(1) && (!contains(side, term.axis) || term.axis == in_order(side).back());
         });
}

Extent steps_of(const Draft& draft, const std::vector<int>& axes) {
  Extent product = 1;
  for (const int axis : axes) {
    product *= axis_of(draft, axis).extent;
  }
  return product;
}

loops::Affine step_number(const Draft& draft, const std::vector<int>& axes) {
  loops::Affine at;
  for (const int axis : axes) {
    at = add(scale(at, axis_of(draft, axis).extent), affine_axis(axis));
  }
  return at;
}

int add_scratch(Draft& draft, Dtype dtype, const Extent& elements) {
  draft.kernel.buffers.push_back({.dtype = dtype, .role = loops::Role::scratch, .elements = elements});
  return static_cast<int>(draft.kernel.buffers.size()) - 1;
}

std::optional<loops::Matrix> as_matrix(const Draft& draft, int buffer, const loops::Affine& at,
                                       const std::vector<int>& rows, const std::vector<int>& columns) {
  const auto row = stride(draft, at, rows);
  const auto column = stride(draft, at, columns);
  if (!row || !column) {
    return std::nullopt;
  }
  loops::Matrix matrix{.buffer = buffer, .at = at, .row = *row, .column = *column};
  remove_terms(matrix.at, rows);
  remove_terms(matrix.at, columns);
  return matrix;
}

std::optional<loops::Matrix> in_place(const Draft& draft, int value, Dtype dtype, const std::vector<int>& rows,
                                      const std::vector<int>& columns) {
  const loops::Load* load = plain_load(draft, value, dtype);
  return load ? as_matrix(draft, load->buffer, load->at, rows, columns) : std::nullopt;
}

loops::Matrix stored(Draft& draft, int value, Dtype dtype, const std::vector<int>& rows,
                     const std::vector<int>& columns, DraftProduct& product) {
  const Extent width = steps_of(draft, columns);
  const int buffer = add_scratch(draft, dtype, steps_of(draft, rows) * width);
  const DraftStore store{.buffer = buffer,
                         .at = add(scale(step_number(draft, rows), width), step_number(draft, columns)),
                         .value = value,
                         .axes = draft.values.axes(value)};
  product.operands.push_back(draft.stores.size());
  draft.stores.push_back(in_own_loops(draft, store, axes_of(store.at)));
  return {.buffer = buffer, .at = {}, .row = width, .column = 1};
}

loops::Matrix stored_left(Draft& draft, int value, Dtype dtype, const std::vector<int>& rows,
                          const std::vector<int>& depth, DraftProduct& product) {
  if (distance_along(draft, value, depth) <= distance_along(draft, value, rows)) {
    return stored(draft, value, dtype, rows, depth, product);
  }
  const loops::Matrix transposed = stored(draft, value, dtype, depth, rows, product);
  return {.buffer = transposed.buffer, .at = {}, .row = transposed.column, .column = transposed.row};
}

bool is_own_constant(const Draft& draft, int value, Dtype dtype, const ConstantOperands& constants) {
  const loops::Load* load = plain_load(draft, value, dtype);
  return load && constants.is_constant(load->buffer) && !is_read_elsewhere(draft, load->buffer, value);
}

bool is_packable(const Draft& draft, const ProductMatch& match, const ConstantOperands& constants) {
  const bool has_panels = match.types == ProductTypes{} || has_narrow_right(match.types) ||
                          (constants.bytes_together > 0 && is_byte_product(match.types));
  return constants.panel != 0 && has_panels && is_own_constant(draft, match.right, match.types.right, constants);
}

bool any_packable(const Draft& draft, const std::vector<ProductMatch>& products, const ConstantOperands& constants) {
  return std::ranges::any_of(products, [&](const ProductMatch& each) { return is_packable(draft, each, constants); });
}

std::optional<loops::Matrix> packed(const Draft& draft, const ProductMatch& match, const ConstantOperands& constants,
                                    const DraftProduct& product, bool whole_panels,
                                    std::map<int, layouts::PanelLayout>& panels) {
  const loops::Load* load = plain_load(draft, match.right, match.types.right);
  const loops::Product& statement = product.statement;
  if (statement.columns.size() != 1) {
    return std::nullopt;
  }
  const int column = statement.columns[0];
  const int column_tiles = axis_of(draft, column).tile_of;
  const auto columns = total(draft, column);
  const auto base = load->at.base.constant();
  const auto stride_of = [&](int axis) { return scale_along(load->at, axis).constant(); };
  const auto apart = stride_of(column);
  if (!columns || !base || !apart || *columns == 0) {
    return std::nullopt;
  }
  layouts::PanelLayout layout{
      .panel = constants.panel, .columns = *columns, .base = *base, .column = *apart, .depth = {}};
  layout.together = is_byte_product(match.types) ? constants.bytes_together : 1;
  int64_t block = 1;  // steps of k in a block
  for (const int axis : statement.depth) {
    const bool is_cut = product.depth_blocks >= 0 && axis_of(draft, axis).tile_of == product.depth_blocks;
    // Blocks of the outermost digit follow each other; those of another one are a digit of their own.
    const auto count = is_cut ? axis_of(draft, axis).extent.constant() : total(draft, axis);
    const auto whole = total(draft, axis);
    const auto stride = stride_of(axis);
    if (!count || !whole || !stride || *count == 0) {
      return std::nullopt;
    }
    const bool is_outermost = axis == statement.depth[0];
    if (is_cut && !is_outermost) {
      if (*whole % *count != 0) {
        return std::nullopt;
      }
      layout.depth.insert(layout.depth.begin(), {.count = *whole / *count, .stride = *count * *stride});
    }
    layout.depth.push_back({.count = is_cut && is_outermost ? *whole : *count, .stride = *stride});
    block *= *count;
  }
  if (product.depth_blocks >= 0 && block % layout.together != 0) {
    return std::nullopt;
  }
  const auto has_whole_panels = [&](const Extent& width) {
    return width.is_constant() ? *width.constant() % layout.panel == 0 : whole_panels;
  };
  loops::Affine at;
  for (const loops::Term& term : load->at.terms) {
    if (term.axis == column || std::ranges::find(statement.depth, term.axis) != statement.depth.end()) {
      continue;
    }
    if (term.axis == product.depth_blocks) {
      at = add(at, scale(affine_axis(term.axis), block * layout.panel));
    } else if (term.axis == column_tiles && has_whole_panels(axis_of(draft, column).extent)) {
      at = add(at, scale(affine_axis(term.axis), axis_of(draft, column).extent * layout.whole_steps()));
    } else {
      return std::nullopt;
    }
  }
  const loops::Matrix matrix{
      .buffer = load->buffer, .at = at, .row = layout.panel, .column = layout.whole_steps() * layout.panel};
  panels[load->buffer] = std::move(layout);
  return matrix;
}

}  // namespace tenon::schedule
