// What the tasks of a block need, and in which order they run.
#include <algorithm>

#include "base/fail.h"
#include "schedule/nest/tree.h"

namespace tenon::schedule {

int TreeBuilder::value_of(const Task& task) const {
  return task.is_store ? draft_.stores[task.index].value : draft_.accumulator(draft_.reductions[task.index]).input;
}

/// The reductions that a task needs and that are not there yet. Those inside of further loops are part of the task, so
/// what they need counts too.
std::vector<size_t> TreeBuilder::reductions_needed(const Task& task, AxisSet bound) const {
  std::vector<int> pending;
  const auto push_inputs = [&](const DraftReduction& reduction) {
    const loops::Accumulator& accumulator = draft_.accumulator(reduction);
    pending.push_back(accumulator.input);
    if (accumulator.position >= 0) {
      pending.push_back(accumulator.position);
    }
  };
  if (task.is_store) {
    pending.push_back(draft_.stores[task.index].value);
  } else {
    push_inputs(draft_.reductions[task.index]);
  }
  std::vector<size_t> found;
  std::unordered_set<int> seen;
  while (!pending.empty()) {
    const int next = pending.back();
    pending.pop_back();
    if (!seen.insert(next).second || is_defined(next)) {
      continue;
    }
    if (const DraftReduction* reduction = draft_.reduction_of(next)) {
      found.push_back(static_cast<size_t>(reduction - draft_.reductions.data()));
      if (!is_subset(reduction->level, bound)) {
        push_inputs(*reduction);
      }
      continue;
    }
    for (const int operand : operands_of(draft_.value(next))) {
      pending.push_back(operand);
    }
  }
  return found;
}

/// The tasks, and all reductions at this level that they need.
std::vector<Task> TreeBuilder::with_reductions(std::vector<Task> tasks, AxisSet bound) const {
  std::vector<size_t> known;
  for (size_t i = 0; i < tasks.size(); ++i) {
    for (const size_t index : reductions_needed(tasks[i], bound)) {
      const DraftReduction& reduction = draft_.reductions[index];
      if (is_subset(reduction.level, bound) && std::ranges::find(known, index) == known.end()) {
        known.push_back(index);
        tasks.push_back({.is_store = false, .index = index, .remaining = reduction.axes, .begins = true});
      }
    }
  }
  return tasks;
}

/// Tasks in an order in which reductions come before what needs them, joined where they share loops. A task without
/// loops is a nest without loops.
std::vector<TreeBuilder::Nest> TreeBuilder::in_stages(const std::vector<Task>& tasks, AxisSet bound) const {
  std::vector<size_t> stage(tasks.size(), 0);
  bool moved = true;
  for (size_t round = 0; moved; ++round) {
    TENON_CHECK(round <= tasks.size(), "{}: reductions need each other", draft_.kernel.name);
    moved = false;
    for (size_t i = 0; i < tasks.size(); ++i) {
      for (const size_t needed : reductions_needed(tasks[i], bound)) {
        for (size_t j = 0; j < tasks.size(); ++j) {
          if (!tasks[j].is_store && tasks[j].index == needed && tasks[j].begins && stage[i] <= stage[j]) {
            stage[i] = stage[j] + 1;
            moved = true;
          }
        }
      }
    }
  }
  std::vector<Nest> nests;
  const size_t last = tasks.empty() ? 0 : *std::ranges::max_element(stage);
  for (size_t s = 0; s <= last; ++s) {
    const size_t first_of_stage = nests.size();
    for (size_t i = 0; i < tasks.size(); ++i) {
      if (stage[i] != s) {
        continue;
      }
      const auto same = std::find_if(nests.begin() + static_cast<std::ptrdiff_t>(first_of_stage), nests.end(),
                                     [&](const Nest& nest) { return nest.loops == tasks[i].remaining; });
      if (same == nests.end()) {
        nests.push_back({tasks[i].remaining, {tasks[i]}});
      } else {
        same->tasks.push_back(tasks[i]);
      }
    }
  }
  return nests;
}

/// Counters of tiles before the insides of tiles, vectorised loops last.
std::vector<int> TreeBuilder::nesting_order(AxisSet axes) const {
  std::vector<int> order;
  for (int axis = 0; axis < static_cast<int>(draft_.kernel.axes.size()); ++axis) {
    if (contains(axes, axis)) {
      order.push_back(axis);
    }
  }
  const auto rank = [&](int axis) {
    const loops::Axis& a = draft_.axis(axis);
    return a.binding == loops::Binding::lanes ? 2 : a.tile_of >= 0 ? 1 : 0;
  };
  std::ranges::stable_sort(order, {}, rank);
  return order;
}

}  // namespace tenon::schedule
