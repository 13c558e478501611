#include "schedule/tree.h"

#include <algorithm>
#include <bit>

#include "base/fail.h"

namespace tenon {
namespace {

/// Dear enough that a store and a load of a row in cache are cheaper than to compute it again.
bool is_heavy(Prim prim) {
  switch (prim) {
    case Prim::exp:
    case Prim::expm1:
    case Prim::log:
    case Prim::log1p:
    case Prim::sin:
    case Prim::cos:
    case Prim::atan2:
    case Prim::tanh:
    case Prim::erf:
    case Prim::pow:
    case Prim::rem: return true;
    default: return false;
  }
}

}  // namespace

// ---------------------------------------------------------------------------------------------------------------------
// What tasks need

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
    return a.vectorized ? 2 : a.tile_of >= 0 ? 1 : 0;
  };
  std::ranges::stable_sort(order, {}, rank);
  return order;
}

// ---------------------------------------------------------------------------------------------------------------------
// Scopes and definitions

void TreeBuilder::open(int axis) {
  open_.push_back({.block = {}, .bound = open_.back().bound | axis_bit(axis), .defined = {}});
}

void TreeBuilder::close(int axis, std::vector<int> begins) {
  loops::Block body = std::move(open_.back().block);
  open_.pop_back();
  open_.back().block.push_back({loops::Loop{.axis = axis, .begins = std::move(begins), .body = std::move(body)}});
}

bool TreeBuilder::is_defined(int value) const {
  return std::ranges::any_of(open_, [&](const Scope& scope) { return scope.defined.contains(value); });
}

/// Store a value that a later loop needs.
void TreeBuilder::keep(int value, Scope& scope) {
  if (const auto kept = keeping_.find(value); kept != keeping_.end()) {
    for (const Kept& place : kept->second) {
      scope.block.push_back({loops::Store{.buffer = place.buffer, .at = place.at, .inside = {}, .value = value}});
    }
    keeping_.erase(kept);
  }
}

/// Define a value in the outermost block that has all it needs.
void TreeBuilder::define(int value) {
  if (is_defined(value)) {
    return;
  }
  const std::vector<int> operands = operands_of(draft_.value(value));
  for (const int operand : operands) {
    define(operand);
  }
  TENON_CHECK(!std::holds_alternative<loops::Result>(draft_.value(value).what), "{}: v{} is used before its loop",
              draft_.kernel.name, value);
  const AxisSet axes = draft_.values.axes(value);
  for (size_t i = 0; i < open_.size(); ++i) {
    Scope& scope = open_[i];
    const auto visible = [&](int operand) {
      return std::any_of(open_.begin(), open_.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                         [&](const Scope& outer) { return outer.defined.contains(operand); });
    };
    if (!is_subset(axes, scope.bound) || !std::ranges::all_of(operands, visible)) {
      continue;
    }
    scope.block.push_back({loops::Define{value}});
    scope.defined.insert(value);
    keep(value, scope);
    if (const auto* compute = std::get_if<loops::Compute>(&draft_.value(value).what);
        compute && is_heavy(compute->prim) && i > 0 && scope.bound != axes && repeats_.empty()) {
      repeats_ = std::string(name(compute->prim));
    }
    return;
  }
  TENON_CHECK(false, "{}: v{} has no place", draft_.kernel.name, value);
}

void TreeBuilder::leaf(const Task& task) {
  if (task.is_store) {
    const DraftStore& store = draft_.stores[task.index];
    define(store.value);
    open_.back().block.push_back(
        {loops::Store{.buffer = store.buffer, .at = store.at, .inside = {}, .value = store.value}});
    return;
  }
  const DraftReduction& reduction = draft_.reductions[task.index];
  const loops::Accumulator& accumulator = draft_.accumulator(reduction);
  define(accumulator.input);
  if (accumulator.position >= 0) {
    define(accumulator.position);
  }
  open_.back().block.push_back({loops::Accumulate{reduction.accumulator}});
}

// ---------------------------------------------------------------------------------------------------------------------
// Rows that stay in scratch

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
    if (draft_.axis(axis).vectorized) {
      shared &= ~axis_bit(axis);
    }
  }
  std::unordered_map<int, int> loads;
  for (const int value : find_shared(std::move(roots), computed, bound)) {
    loops::Affine at;
    Extent elements = 1;
    for (const int axis : nesting_order(draft_.values.axes(value) & ~shared)) {
      at = add(scale(at, draft_.axis(axis).extent), affine_axis(axis));
      elements *= draft_.axis(axis).extent;
    }
    const int buffer = static_cast<int>(draft_.kernel.buffers.size());
    const Dtype dtype = compute_dtype(draft_.values.dtype(value));
    draft_.kernel.buffers.push_back({.dtype = dtype, .role = loops::Role::scratch, .elements = elements});
    keeping_[value].push_back({buffer, at});
    loads[value] = draft_.values.load({.buffer = buffer, .at = at, .inside = {}, .lookups = {}});
  }
  return loads;
}

// ---------------------------------------------------------------------------------------------------------------------
// Blocks and nests

void TreeBuilder::block(AxisSet bound, std::vector<Task> tasks) {
  const std::vector<Nest> nests = in_stages(with_reductions(std::move(tasks), bound), bound);
  for (size_t i = 0; i < nests.size(); ++i) {
    if (nests[i].loops == 0) {
      for (const Task& task : nests[i].tasks) {
        leaf(task);
      }
      continue;
    }
    std::unordered_map<int, int> kept;
    if (keep_rows_) {
      kept = keep_for(nests, i, bound);
    }
    open_nest(bound, nests[i]);
    if (kept.empty()) {
      continue;
    }
    for (size_t j = i + 1; j < nests.size(); ++j) {
      for (const Task& task : nests[j].tasks) {
        if (task.is_store) {
          int& value = draft_.stores[task.index].value;
          value = replaced(draft_, value, kept);
        } else {
          loops::Accumulator& accumulator = draft_.accumulator(draft_.reductions[task.index]);
          rewritten_.try_emplace(task.index, accumulator.input);
          accumulator.input = replaced(draft_, accumulator.input, kept);
        }
      }
    }
    // What loops around are waiting for is defined under another name now.
    for (const auto& [before, now] : kept) {
      if (const auto waiting = keeping_.find(before); waiting != keeping_.end() && before != now) {
        const std::vector<Kept> places = std::move(waiting->second);
        keeping_.erase(waiting);
        keeping_[now].insert(keeping_[now].end(), places.begin(), places.end());
      }
    }
  }
}

void TreeBuilder::open_nest(AxisSet bound, const Nest& nest) {
  // Loops around reductions that the nest needs inside come first.
  AxisSet first = nest.loops;
  for (const Task& task : nest.tasks) {
    std::vector<size_t> needed = reductions_needed(task, bound);
    for (size_t i = 0; i < needed.size(); ++i) {
      const DraftReduction& reduction = draft_.reductions[needed[i]];
      const AxisSet around = reduction.level & ~bound;
      if (around != 0 && is_subset(around, nest.loops) && std::popcount(around) < std::popcount(first)) {
        first = around;
      }
    }
  }
  const std::vector<int> order = nesting_order(first);
  std::vector<Task> tasks = nest.tasks;
  std::vector<int> begins;
  for (Task& task : tasks) {
    task.remaining &= ~first;
    if (task.begins) {
      begins.push_back(draft_.reductions[task.index].accumulator);
      task.begins = false;
    }
  }
  for (const int axis : order) {
    open(axis);
  }
  block(bound | first, tasks);
  for (size_t i = order.size(); i-- > 0;) {
    close(order[i], i == 0 ? begins : std::vector<int>{});
  }
  for (const Task& task : nest.tasks) {
    if (task.begins) {
      const int result = draft_.reductions[task.index].result;
      open_.back().defined.insert(result);
      keep(result, open_.back());
    }
  }
}

void TreeBuilder::add_phase(AxisSet grid, const std::vector<size_t>& stores) {
  AxisSet loops = 0;
  loops::Phase phase;
  std::vector<int> tiles;
  for (const int axis : nesting_order(grid)) {
    if (draft_.axis(axis).vectorized || draft_.axis(axis).tile_of >= 0) {
      loops |= axis_bit(axis);
    } else {
      phase.grid.push_back(axis);
    }
  }
  open_.push_back({.block = {}, .bound = grid & ~loops, .defined = {}});
  const std::vector<int> inside = nesting_order(loops);
  for (const int axis : inside) {
    open(axis);
  }
  std::vector<Task> tasks;
  for (const size_t store : stores) {
    tasks.push_back(
        {.is_store = true, .index = store, .remaining = draft_.stores[store].axes & ~grid, .begins = false});
  }
  block(grid, std::move(tasks));
  for (size_t i = inside.size(); i-- > 0;) {
    close(inside[i], {});
  }
  phase.body = std::move(open_.back().block);
  open_.clear();
  keeping_.clear();
  draft_.kernel.phases.push_back(std::move(phase));
}

void TreeBuilder::forget_rows() {
  if (rewritten_.empty()) {
    return;
  }
  // Those that read scratch are taken by the phases that are written, so fresh ones take their places; the same for all
  // that depend on them, which come later in the list.
  std::unordered_map<int, int> fresh;
  for (size_t i = 0; i < draft_.reductions.size(); ++i) {
    DraftReduction& reduction = draft_.reductions[i];
    loops::Accumulator accumulator = draft_.accumulator(reduction);
    const auto original = rewritten_.find(i);
    const int input = original == rewritten_.end() ? accumulator.input : original->second;
    const int now = accumulator.input;
    accumulator.input = replaced(draft_, input, fresh);
    if (accumulator.input == now) {
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
  rewritten_.clear();
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
  std::vector<int> pending;
  for (const size_t store : stores) {
    common &= draft.stores[store].axes;
    pending.push_back(draft.stores[store].value);
  }
  std::unordered_set<int> seen;
  while (!pending.empty()) {
    const int value = pending.back();
    pending.pop_back();
    if (!seen.insert(value).second) {
      continue;
    }
    if (const DraftReduction* reduction = draft.reduction_of(value)) {
      common &= reduction->level;
      pending.push_back(draft.kernel.accumulators[static_cast<size_t>(reduction->accumulator)].input);
    }
    for (const int operand : operands_of(draft.value(value))) {
      pending.push_back(operand);
    }
  }
  return stores.empty() ? 0 : common;
}

}  // namespace tenon
