#include "schedule/products/own_loops.h"

#include <algorithm>
#include <bit>

#include "schedule/draft/substituted.h"

namespace tenon::schedule {
namespace {

constexpr int kMostAxes = 60;  // AxisSet has 64 bits

bool is_made_of_inputs(const Draft& draft, int value) {
  return std::ranges::all_of(ingredients_of(draft, {value}), [&](int each) {
    const loops::Value& what = draft.value(each);
    const auto* load = std::get_if<loops::Load>(&what.what);
    const bool is_left = load && draft.kernel.buffers[static_cast<size_t>(load->buffer)].role != loops::Role::input;
    return !is_left && !std::holds_alternative<loops::Result>(what.what);
  });
}

}  // namespace

DraftStore in_own_loops(Draft& draft, DraftStore store, AxisSet axes) {
  const int count = static_cast<int>(draft.kernel.axes.size());
  if (count + std::popcount(axes) > kMostAxes || !is_made_of_inputs(draft, store.value)) {
    return store;
  }
  std::map<int, Substituted::Place> by;
  for (int axis = 0; axis < count; ++axis) {
    if (contains(axes, axis)) {
      by[axis] = {.at = affine_axis(static_cast<int>(draft.kernel.axes.size()))};
      loops::Axis own = draft.axis(axis);
      own.name += "_in";
      draft.kernel.axes.push_back(std::move(own));
    }
  }
  Substituted own(draft, std::move(by));
  store.value = own.value(store.value);
  store.at = own.affine(store.at);
  store.axes = draft.values.axes(store.value);
  return store;
}

}  // namespace tenon::schedule
