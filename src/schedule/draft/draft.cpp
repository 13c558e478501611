#include "schedule/draft/draft.h"

#include <fmt/format.h>

#include <algorithm>

namespace tenon::schedule {

const DraftReduction* Draft::reduction_of(int value) const {
  const auto* result = std::get_if<loops::Result>(&this->value(value).what);
  if (!result) {
    return nullptr;
  }
  const auto found = std::ranges::find(reductions, result->accumulator, &DraftReduction::accumulator);
  return found == reductions.end() ? nullptr : &*found;
}

std::vector<int> operands_of(const loops::Value& value) {
  if (const auto* compute = std::get_if<loops::Compute>(&value.what)) {
    return compute->operands;
  }
  std::vector<int> operands;
  if (const auto* load = std::get_if<loops::Load>(&value.what)) {
    for (const loops::Lookup& lookup : load->lookups) {
      operands.push_back(lookup.value);
    }
  }
  return operands;
}

std::vector<int> ingredients_of(const Draft& draft, const std::vector<int>& values) {
  std::vector<bool> seen(draft.kernel.values.size(), false);
  std::vector<int> found;
  const auto add = [&](int value) {
    if (!seen[static_cast<size_t>(value)]) {
      seen[static_cast<size_t>(value)] = true;
      found.push_back(value);
    }
  };
  std::ranges::for_each(values, add);
  for (size_t i = 0; i < found.size(); ++i) {
    const int value = found[i];
    if (const DraftReduction* reduction = draft.reduction_of(value)) {
      const loops::Accumulator& accumulator = draft.accumulator(*reduction);
      add(accumulator.input);
      if (accumulator.position >= 0) {
        add(accumulator.position);
      }
    }
    std::ranges::for_each(operands_of(draft.value(value)), add);
  }
  return found;
}

namespace {

/// Every affine position in the draft.
template <class F>
bool all_positions(const Draft& draft, F&& holds) {
  const auto bounds_hold = [&](const std::vector<loops::Bound>& bounds) {
    return std::ranges::all_of(bounds, [&](const loops::Bound& bound) { return holds(bound.index); });
  };
  for (const loops::Value& value : draft.kernel.values) {
    if (const auto* load = std::get_if<loops::Load>(&value.what)) {
      if (!holds(load->at) || !bounds_hold(load->inside)) {
        return false;
      }
    } else if (const auto* position = std::get_if<loops::Position>(&value.what)) {
      if (!holds(position->at)) {
        return false;
      }
    }
  }
  return std::ranges::all_of(draft.stores,
                             [&](const DraftStore& store) { return holds(store.at) && bounds_hold(store.inside); });
}

/// The two loops are in the same sets everywhere.
bool run_together(const Draft& draft, int a, int b) {
  const auto same = [&](AxisSet set) { return contains(set, a) == contains(set, b); };
  return std::ranges::all_of(draft.stores, [&](const DraftStore& store) { return same(store.axes); }) &&
         std::ranges::all_of(draft.reductions, [&](const DraftReduction& r) { return same(r.axes) && same(r.level); });
}

bool is_used(const Draft& draft, int axis) {
  return std::ranges::any_of(draft.stores, [&](const DraftStore& store) { return contains(store.axes, axis); }) ||
         std::ranges::any_of(draft.reductions,
                             [&](const DraftReduction& r) { return contains(r.axes | r.level, axis); });
}

/// `by` in place of `axis` everywhere; in sets, its axes.
void substitute_axis(Draft& draft, int axis, const loops::Affine& by) {
  const auto replace = [&](AxisSet& set) {
    if (contains(set, axis)) {
      set = (set & ~axis_bit(axis)) | axes_of(by);
    }
  };
  draft.values.substitute(axis, by);
  for (DraftStore& store : draft.stores) {
    store.at = substitute(store.at, axis, by);
    for (loops::Bound& bound : store.inside) {
      bound.index = substitute(bound.index, axis, by);
    }
    replace(store.axes);
  }
  for (DraftReduction& reduction : draft.reductions) {
    replace(reduction.axes);
    replace(reduction.level);
  }
}

/// Make `inner` run over both loops, if all positions allow it.
bool try_join(Draft& draft, int outer, int inner) {
  if (!run_together(draft, outer, inner)) {
    return false;
  }
  const Extent& size = draft.axis(inner).extent;
  const auto consecutive = [&](const loops::Affine& at) {
    return scale_along(at, outer) == scale_along(at, inner) * size;
  };
  if (!all_positions(draft, consecutive)) {
    return false;
  }
  draft.axis(inner).extent *= draft.axis(outer).extent;
  if (draft.axis(outer).name != draft.axis(inner).name) {
    draft.axis(inner).name = draft.axis(outer).name + "." + draft.axis(inner).name;
  }
  substitute_axis(draft, outer, {});
  return true;
}

}  // namespace

void join_axes(Draft& draft) {
  const int count = static_cast<int>(draft.kernel.axes.size());
  for (int inner = count - 1; inner >= 0; --inner) {
    for (int outer = count - 1; outer >= 0; --outer) {
      if (outer != inner && is_used(draft, outer) && is_used(draft, inner)) {
        try_join(draft, outer, inner);
      }
    }
  }
}

void name_sizes(Draft& draft) {
  for (int axis = 0; axis < static_cast<int>(draft.kernel.axes.size()); ++axis) {
    Extent& extent = draft.axis(axis).extent;
    if (is_used(draft, axis) && extent.is_constant()) {
      const std::string name = fmt::format("${}", draft.kernel.arguments.size());
      draft.kernel.arguments.emplace(name, extent);
      extent = Extent::name(name);
    }
  }
}

Extent named_size(Draft& draft, const Extent& size) {
  if (size.is_constant()) {
    return size;
  }
  const Extent value = size.substitute(draft.kernel.arguments);
  for (const auto& [name, known] : draft.kernel.arguments) {
    if (known == value) {
      return Extent::name(name);
    }
  }
  const std::string name = fmt::format("${}", draft.kernel.arguments.size());
  draft.kernel.arguments.emplace(name, value);
  return Extent::name(name);
}

int tile_axis(Draft& draft, int axis, const Extent& size) {
  const int tiles = static_cast<int>(draft.kernel.axes.size());
  const Extent total = draft.axis(axis).extent;
  draft.kernel.axes.push_back({.extent = ceildiv(total, size), .name = draft.axis(axis).name + "_tile"});
  loops::Axis& inner = draft.axis(axis);
  inner.extent = size;
  inner.tile_of = tiles;
  inner.total = total;
  substitute_axis(draft, axis, add(scale(affine_axis(tiles), size), affine_axis(axis)));
  return tiles;
}

int replaced(Draft& draft, int value, std::unordered_map<int, int>& by) {
  if (const auto known = by.find(value); known != by.end()) {
    return known->second;
  }
  const loops::Value what = draft.value(value);
  int result = value;
  if (const auto* compute = std::get_if<loops::Compute>(&what.what); compute && !compute->operands.empty()) {
    std::vector<int> operands;
    for (const int operand : compute->operands) {
      operands.push_back(replaced(draft, operand, by));
    }
    if (operands != compute->operands) {
      result = draft.values.compute(compute->prim, what.dtype, std::move(operands));
    }
  } else if (const auto* load = std::get_if<loops::Load>(&what.what); load && !load->lookups.empty()) {
    loops::Load copy = *load;
    for (loops::Lookup& lookup : copy.lookups) {
      lookup.value = replaced(draft, lookup.value, by);
    }
    result = draft.values.load(std::move(copy));
  }
  by[value] = result;
  return result;
}

AxisSet common_axes(const Draft& draft, const std::vector<size_t>& stores) {
  AxisSet common = ~AxisSet{0};
  std::vector<int> values;
  for (const size_t store : stores) {
    common &= draft.stores[store].axes;
    values.push_back(draft.stores[store].value);
  }
  for (const int value : ingredients_of(draft, values)) {
    if (const DraftReduction* reduction = draft.reduction_of(value)) {
      common &= reduction->level;
    }
  }
  return stores.empty() ? 0 : common;
}

}  // namespace tenon::schedule
