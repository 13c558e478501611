#include "schedule/product_operands.h"

#include <algorithm>

namespace tenon {

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
  product.operands.push_back(draft.stores.size());
  draft.stores.push_back({.buffer = buffer,
                          .at = add(scale(step_number(draft, rows), width), step_number(draft, columns)),
                          .value = value,
                          .axes = draft.values.axes(value)});
  return {.buffer = buffer, .at = {}, .row = width, .column = 1};
}

void pack_constant(Draft& draft, const ProductMatch& match, const ConstantOperands& constants, DraftProduct& product,
                   std::map<int, PanelLayout>& panels) {
  loops::Matrix& right = product.statement.right;
  if (constants.panel == 0 || match.types != ProductTypes{} || !constants.is_constant(right.buffer) ||
      product.statement.columns.size() != 1 || is_read_elsewhere(draft, right.buffer, match.right)) {
    return;
  }
  const int column = product.statement.columns[0];
  const auto columns = total(draft, column);
  const auto row = right.row.constant();
  const auto apart = right.column.constant();
  const auto base = right.at.base.constant();
  int64_t depth = 1;
  for (const int axis : product.statement.depth) {
    depth *= total(draft, axis).value_or(0);
  }
  if (!columns || !row || !apart || !base || depth == 0 || *columns == 0) {
    return;
  }
  // Tiles of columns begin with a panel, blocks of k anywhere.
  loops::Affine at;
  const int64_t panel = constants.panel;
  for (const loops::Term& term : right.at.terms) {
    const bool counts_columns = term.axis == draft.axis(column).tile_of;
    const bool counts_depth = term.axis == product.depth_blocks;
    const auto step = divide_exactly(term.scale, counts_columns ? *apart : *row);
    if (!(counts_columns || counts_depth) || !step || !step->constant() ||
        (counts_columns && *step->constant() % panel != 0)) {
      return;
    }
    at = add(at, scale(affine_axis(term.axis), *step * (counts_columns ? depth : panel)));
  }
  panels[right.buffer] = {
      .panel = panel, .depth = depth, .columns = *columns, .base = *base, .row = *row, .column = *apart};
  right = {.buffer = right.buffer, .at = at, .row = panel, .column = depth * panel};
  product.statement.panel = panel;
}

}  // namespace tenon
