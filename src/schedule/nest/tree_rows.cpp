// Values of a row that later loops need again: kept in scratch where they are dear to compute.
#include <algorithm>

#include "schedule/nest/tree.h"

namespace tenon::schedule {

bool TreeBuilder::is_dear(int value, AxisSet bound, std::unordered_map<int, bool>& known) const {
  if (is_subset(draft_.values.axes(value), bound) || is_defined(value)) {
    return false;
  }
  const loops::Value& what = draft_.value(value);
  if (std::holds_alternative<loops::Result>(what.what)) {
    return true;
  }
  const auto* compute = std::get_if<loops::Compute>(&what.what);
  if (!compute) {
    return false;
  }
  const auto [at, is_new] = known.emplace(value, is_heavy(compute->prim));
  if (is_new && !at->second) {
    for (const int operand : compute->operands) {
      if (is_dear(operand, bound, known)) {
        known[value] = true;
        break;
      }
    }
  }
  return known[value];
}

/// The topmost values under `roots` that are computed already and dear.
std::vector<int> TreeBuilder::find_shared(std::vector<int> roots, const std::unordered_set<int>& computed,
                                          AxisSet bound) const {
  std::vector<int> shared;
  std::unordered_set<int> seen;
  std::unordered_map<int, bool> dear;
  while (!roots.empty()) {
    const int value = roots.back();
    roots.pop_back();
    if (is_subset(draft_.values.axes(value), bound) || is_defined(value) || !seen.insert(value).second) {
      continue;
    }
    if (computed.contains(value) && is_dear(value, bound, dear)) {
      shared.push_back(value);
      continue;
    }
    for (const int operand : operands_of(draft_.value(value))) {
      roots.push_back(operand);
    }
  }
  std::ranges::sort(shared);
  return shared;
}

DensePlace TreeBuilder::dense(AxisSet axes) const {
  DensePlace place;
  for (const int axis : nesting_order(axes)) {
    place.at = add(scale(place.at, draft_.axis(axis).extent), affine_axis(axis));
    place.elements *= draft_.axis(axis).extent;
  }
  return place;
}

/// Scratch for the values that nest `now` computes and later nests need: value -> the load that takes its place there.
std::unordered_map<int, int> TreeBuilder::keep_for(const std::vector<Nest>& nests, size_t now, AxisSet bound) {
  std::unordered_set<int> computed;
  std::vector<int> pending;
  for (const Task& task : nests[now].tasks) {
    pending.push_back(value_of(task));
  }
  while (!pending.empty()) {
    const int value = pending.back();
    pending.pop_back();
    if (computed.insert(value).second) {
      for (const int operand : operands_of(draft_.value(value))) {
        pending.push_back(operand);
      }
    }
  }
  std::vector<int> roots;
  for (size_t i = now + 1; i < nests.size(); ++i) {
    for (const Task& task : nests[i].tasks) {
      if (nests[i].loops == nests[now].loops) {
        roots.push_back(value_of(task));
      }
    }
  }
  // Iterations of the loops around follow each other and take the same scratch; lanes run at once.
  AxisSet shared = bound;
  for (int axis = 0; axis < static_cast<int>(draft_.kernel.axes.size()); ++axis) {
    if (draft_.axis(axis).binding == loops::Binding::lanes) {
      shared &= ~axis_bit(axis);
    }
  }
  std::unordered_map<int, int> loads;
  for (const int value : find_shared(std::move(roots), computed, bound)) {
    const auto [at, elements] = dense(draft_.values.axes(value) & ~shared);
    const int buffer = static_cast<int>(draft_.kernel.buffers.size());
    const Dtype dtype = compute_dtype(draft_.values.dtype(value));
    draft_.kernel.buffers.push_back({.dtype = dtype, .role = loops::Role::scratch, .elements = elements});
    keeping_[value].push_back({buffer, at});
    loads[value] = draft_.values.load({.buffer = buffer, .at = at, .inside = {}, .lookups = {}});
  }
  return loads;
}

void TreeBuilder::forget_rows(std::optional<AxisSet> bound) {
  const auto is_gone = [&](size_t i) {
    return rewritten_.contains(i) && (!bound || !is_subset(draft_.reductions[i].level, *bound));
  };
  if (std::ranges::none_of(rewritten_, [&](const auto& each) { return is_gone(each.first); })) {
    return;
  }
  // Those that read scratch are taken by the loops that are written, so fresh ones take their places; the same for all
  // that depend on them, which come later in the list.
  std::unordered_map<int, int> fresh;
  for (size_t i = 0; i < draft_.reductions.size(); ++i) {
    DraftReduction& reduction = draft_.reductions[i];
    const auto running = running_.find(i);
    if (is_defined(reduction.result) || (running != running_.end() && running->second == Running::fed)) {
      continue;
    }
    loops::Accumulator accumulator = draft_.accumulator(reduction);
    const int now = accumulator.input;
    accumulator.input = replaced(draft_, is_gone(i) ? rewritten_.at(i) : now, fresh);
    if (accumulator.input == now) {
      continue;
    }
    if (running != running_.end()) {
      draft_.accumulator(reduction) = accumulator;
      continue;
    }
    reduction.accumulator = static_cast<int>(draft_.kernel.accumulators.size());
    const int result =
        draft_.values.result(reduction.accumulator, draft_.values.dtype(reduction.result), reduction.level);
    draft_.kernel.accumulators.push_back(accumulator);
    fresh[reduction.result] = result;
    reduction.result = result;
  }
  for (DraftStore& store : draft_.stores) {
    store.value = replaced(draft_, store.value, fresh);
  }
  std::erase_if(rewritten_, [&](const auto& each) { return is_gone(each.first); });
}

}  // namespace tenon::schedule
