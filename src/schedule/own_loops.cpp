#include "schedule/own_loops.h"

#include <algorithm>
#include <bit>
#include <map>
#include <unordered_map>

#include "base/fail.h"

namespace tenon {
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

/// Values with other loops in place of some.
class Renamed {
 public:
  Renamed(Draft& draft, const std::map<int, int>& by) : draft_(draft), by_(by) {}

  int value(int id) {
    const auto known = known_.find(id);
    if (known != known_.end()) {
      return known->second;
    }
    const loops::Value before = draft_.value(id);  // the list grows
    const int after = std::visit([&](const auto& what) { return renamed(what, before); }, before.what);
    known_.emplace(id, after);
    return after;
  }

  loops::Affine affine(loops::Affine at) const {
    for (const auto& [from, to] : by_) {
      at = substitute(at, from, affine_axis(to));
    }
    return at;
  }

 private:
  int renamed(loops::Load load, const loops::Value&) {
    load.at = affine(load.at);
    for (loops::Bound& bound : load.inside) {
      bound.index = affine(bound.index);
    }
    for (loops::Lookup& lookup : load.lookups) {
      lookup.value = value(lookup.value);
    }
    return draft_.values.load(std::move(load));
  }

  int renamed(const loops::Position& position, const loops::Value&) {
    return draft_.values.position(affine(position.at));
  }

  int renamed(const loops::Compute& compute, const loops::Value& before) {
    if (compute.operands.empty()) {
      return draft_.values.constant(before.dtype, compute.literal);
    }
    std::vector<int> operands;
    for (const int operand : compute.operands) {
      operands.push_back(value(operand));
    }
    return draft_.values.compute(compute.prim, before.dtype, std::move(operands));
  }

  static int renamed(const loops::Result&, const loops::Value&) { TENON_CHECK(false, "a result has its own loops"); }

  Draft& draft_;
  const std::map<int, int>& by_;
  std::unordered_map<int, int> known_;
};

}  // namespace

DraftStore in_own_loops(Draft& draft, DraftStore store, AxisSet axes) {
  const int count = static_cast<int>(draft.kernel.axes.size());
  if (count + std::popcount(axes) > kMostAxes || !is_made_of_inputs(draft, store.value)) {
    return store;
  }
  std::map<int, int> by;
  for (int axis = 0; axis < count; ++axis) {
    if (contains(axes, axis)) {
      by[axis] = static_cast<int>(draft.kernel.axes.size());
      loops::Axis own = draft.axis(axis);
      own.name += "_in";
      draft.kernel.axes.push_back(std::move(own));
    }
  }
  Renamed renamed(draft, by);
  store.value = renamed.value(store.value);
  store.at = renamed.affine(store.at);
  store.axes = draft.values.axes(store.value);
  return store;
}

}  // namespace tenon
