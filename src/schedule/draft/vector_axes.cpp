// Along which loops the vector lanes run: where most elements lie side by side.
#include <algorithm>

#include "schedule/draft/draft.h"

namespace tenon::schedule {
namespace {

/// Elements of a tile of a vectorised grid axis: enough work to be worth a call, little enough to stay in cache and to
/// give every thread its share. With loops inside, one pass over a few vectors.
constexpr int64_t kMapTile = 4096;
constexpr int64_t kLaneTile = 64;
constexpr int64_t kFewLanes = 8;

struct Access {
  loops::Affine at;
  AxisSet axes = 0;
};

/// Those that stores and reductions need: other loads have been replaced.
std::vector<Access> accesses(const Draft& draft) {
  std::vector<int> roots;
  for (const DraftStore& store : draft.stores) {
    roots.push_back(store.value);
  }
  for (const DraftReduction& reduction : draft.reductions) {
    roots.push_back(reduction.result);
  }
  std::vector<int> needed = ingredients_of(draft, roots);
  std::ranges::sort(needed);
  std::vector<Access> result;
  for (const int value : needed) {
    if (const auto* load = std::get_if<loops::Load>(&draft.value(value).what)) {
      result.push_back({load->at, draft.values.axes(value)});
    }
  }
  for (const DraftStore& store : draft.stores) {
    result.push_back({store.at, store.axes});
  }
  return result;
}

/// What an access gains from lanes along an axis: whole vectors, nothing where all lanes read one element, and a loss
/// where lanes lie apart.
int gain(const Extent& scale) {
  if (scale == Extent(0)) {
    return 0;
  }
  if (scale == Extent(1)) {
    return 2;
  }
  return scale.is_constant() ? -3 : -2;
}

int gain(const Draft& draft, const std::vector<Access>& all, int axis, AxisSet inside) {
  int sum = 0;
  for (const Access& access : all) {
    if (inside == 0 || (access.axes & inside) != 0) {
      sum += gain(scale_along(access.at, axis));
    }
  }
  const auto size = draft.kernel.axes[static_cast<size_t>(axis)].extent.constant();
  return size && *size < kFewLanes ? sum - 4 : sum;
}

struct Choice {
  int axis = -1;
  int gain = 0;
};

Choice best(const Draft& draft, const std::vector<Access>& all, AxisSet among, AxisSet inside) {
  Choice choice;
  for (int axis = 0; axis < static_cast<int>(draft.kernel.axes.size()); ++axis) {
    if (contains(among, axis)) {
      const int here = gain(draft, all, axis, inside);
      if (choice.axis < 0 || here >= choice.gain) {
        choice = {axis, here};
      }
    }
  }
  return choice;
}

/// An axis of loops that stand around others, whose lanes each run those loops on their own: where elements lie side by
/// side along neither the innermost loops nor the grid, such as the pixels of a convolution that are also summed.
Choice best_between(const Draft& draft, const std::vector<Access>& all, const std::vector<AxisSet>& nests,
                    AxisSet around) {
  Choice choice;
  for (const AxisSet nest : nests) {
    const Choice here = best(draft, all, nest & around, nest);
    if (here.axis < 0 || (choice.axis >= 0 && here.gain <= choice.gain)) {
      continue;
    }
    // One choice for all loops: those that do not run over the axis must run inside of it.
    const auto is_covered = [&](AxisSet other) {
      return contains(other, here.axis) || std::ranges::any_of(draft.reductions, [&](const DraftReduction& reduction) {
               return is_subset(other, reduction.axes) && contains(reduction.level, here.axis);
             });
    };
    if (std::ranges::all_of(nests, is_covered)) {
      choice = here;
    }
  }
  return choice;
}

/// Lanes along the loops around a reduction of a product's tile, such as channels that lie side by side: where its own
/// loops and what is stored beside them would have lanes apart.
Choice best_around_tile(const Draft& draft, const std::vector<Access>& all, AxisSet grid) {
  for (const DraftReduction& reduction : draft.reductions) {
    if ((reduction.axes & grid) == 0) {
      continue;  // of a whole row
    }
    const AxisSet reduced = reduction.axes & ~grid;
    const Choice around = best(draft, all, reduction.level & ~grid, reduced);
    const Choice inside = best(draft, all, reduced, reduced);
    if (around.axis >= 0 && (inside.axis < 0 || around.gain > inside.gain)) {
      return around;
    }
  }
  return {};
}

}  // namespace

void choose_vector_axes(Draft& draft, AxisSet grid, bool inside_only) {
  const std::vector<Access> all = accesses(draft);
  // The nests of loops inside the grid, each with lanes of its own.
  std::vector<AxisSet> nests;
  const auto add_nest = [&](AxisSet nest) {
    nest &= ~grid;
    if (nest != 0 && std::ranges::find(nests, nest) == nests.end()) {
      nests.push_back(nest);
    }
  };
  for (const DraftStore& store : draft.stores) {
    add_nest(store.axes);
  }
  for (const DraftReduction& reduction : draft.reductions) {
    add_nest(reduction.axes);
  }
  // With loops inside, what is accessed once a row does not count.
  AxisSet inside_grid = 0;
  for (const AxisSet nest : nests) {
    inside_grid |= nest;
  }
  const Choice outer = best(draft, all, grid, inside_grid);
  // Vectorised loops do not nest: loops around other loops have none, and one choice serves all nests that share it.
  AxisSet around = 0;
  for (const DraftReduction& reduction : draft.reductions) {
    around |= reduction.level;
  }
  std::vector<Choice> inner;
  int inner_gain = 0;
  AxisSet chosen = 0;
  if (const Choice lanes = inside_only ? best_around_tile(draft, all, grid) : Choice{}; lanes.axis >= 0) {
    draft.axis(lanes.axis).binding = loops::Binding::lanes;
    chosen |= axis_bit(lanes.axis);
    for (const DraftReduction& reduction : draft.reductions) {
      around |= contains(reduction.level, lanes.axis) ? reduction.axes : 0;
    }
  }
  for (const AxisSet nest : nests) {
    AxisSet taken = around;
    for (const AxisSet other : nests) {
      taken |= (chosen & other) != 0 ? other : 0;
    }
    if (const Choice choice = best(draft, all, nest & ~taken, nest); choice.axis >= 0) {
      chosen |= axis_bit(choice.axis);
      inner_gain += choice.gain;
      inner.push_back(choice);
    }
  }
  if (const Choice between = best_between(draft, all, nests, around & ~grid);
      !inside_only && between.axis >= 0 && between.gain >= inner_gain) {
    AxisSet inside = 0;
    for (const AxisSet nest : nests) {
      inside |= contains(nest, between.axis) ? nest : 0;
    }
    if (outer.axis < 0 || between.gain > gain(draft, all, outer.axis, inside)) {
      draft.axis(between.axis).binding = loops::Binding::lanes;
      return;
    }
  }
  if (inside_only || outer.axis < 0 || (!nests.empty() && inner_gain >= outer.gain)) {
    for (const Choice& choice : inner) {
      draft.axis(choice.axis).binding = loops::Binding::lanes;
    }
    return;
  }
  draft.axis(outer.axis).binding = loops::Binding::lanes;
  const int64_t tile = nests.empty() ? kMapTile : kLaneTile;
  const auto size = draft.axis(outer.axis).extent.constant();
  if (!size || *size > tile) {
    tile_axis(draft, outer.axis, tile);
  }
}

}  // namespace tenon::schedule
