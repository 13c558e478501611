#include "schedule/nest/tree.h"

#include <algorithm>
#include <bit>

#include "base/fail.h"
#include "schedule/draft/refusal.h"

namespace tenon::schedule {

void TreeBuilder::open(int axis) {
  open_.push_back({.block = {}, .bound = open_.back().bound | axis_bit(axis), .defined = {}});
}

void TreeBuilder::close(int axis, std::vector<int> begins, int unless) {
  loops::Block body = std::move(open_.back().block);
  open_.pop_back();
  open_.back().block.push_back(
      {loops::Loop{.axis = axis, .begins = std::move(begins), .body = std::move(body), .unless = unless}});
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
  if (std::holds_alternative<loops::Result>(draft_.value(value).what)) {
    throw Refusal{"one of its results would be used before it is there", {}};
  }
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
        {loops::Store{.buffer = store.buffer, .at = store.at, .inside = store.inside, .value = store.value}});
    return;
  }
  const DraftReduction& reduction = draft_.reductions[task.index];
  const loops::Accumulator& accumulator = draft_.accumulator(reduction);
  define(accumulator.input);
  if (accumulator.position >= 0) {
    define(accumulator.position);
  }
  open_.back().block.push_back({loops::Accumulate{reduction.accumulator}});
  running_[task.index] = Running::fed;
}

void TreeBuilder::block(AxisSet bound, std::vector<Task> tasks) {
  const std::vector<Nest> nests = in_stages(with_reductions(std::move(tasks), bound), bound);
  for (size_t i = 0; i < nests.size(); ++i) {
    if (nests[i].loops == 0) {
      for (const Task& task : nests[i].tasks) {
        leaf(task);
      }
      continue;
    }
    if (in_product_) {
      note_repeats(nests[i], bound);
    }
    std::unordered_map<int, int> kept;
    if (keep_rows_) {
      kept = keep_for(nests, i, bound);
    }
    open_nest(bound, nests[i]);
    for (size_t j = i + 1; j < nests.size() && !kept.empty(); ++j) {
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
    forget_rows(bound);
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
      running_[task.index] = Running::begun;
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
      running_.erase(task.index);
      open_.back().defined.insert(result);
      keep(result, open_.back());
    }
  }
}

std::vector<Task> TreeBuilder::tasks_of(const std::vector<size_t>& stores, AxisSet bound) const {
  std::vector<Task> tasks;
  for (const size_t store : stores) {
    tasks.push_back(
        {.is_store = true, .index = store, .remaining = draft_.stores[store].axes & ~bound, .begins = false});
  }
  return tasks;
}

/// What is stored for a product must not be reduced again for every tile of the other side.
void TreeBuilder::note_repeats(const Nest& nest, AxisSet bound) {
  for (const Task& task : nest.tasks) {
    if (task.begins && repeats_.empty() && !is_subset(bound, draft_.reductions[task.index].level)) {
      repeats_ = name(draft_.accumulator(draft_.reductions[task.index]).op);
    }
  }
}

/// Whether a value is computed from the tiles of these products.
bool TreeBuilder::reads(int value, std::span<const DraftProduct> products) const {
  return std::ranges::any_of(ingredients_of(draft_, {value}), [&](int each) {
    const auto* load = std::get_if<loops::Load>(&draft_.value(each).what);
    return load && std::ranges::any_of(products, [&](const DraftProduct& product) {
             return product.statement.tile.buffer == load->buffer;
           });
  });
}

/// Products in order, each after what is stored for it. Stores that need no later product are written beside that: they
/// share its loops.
void TreeBuilder::add_products(AxisSet grid, std::span<const DraftProduct> products, std::vector<size_t>& stores) {
  for (size_t i = 0; i < products.size(); ++i) {
    std::vector<size_t> beside;
    const bool is_in_loop = products[i].depth_blocks >= 0 || products[i].begins >= 0 || products[i].ends >= 0;
    if (!products[i].operands.empty() && !is_in_loop && !products[i].by_rows) {
      const auto waits = [&](size_t store) { return reads(draft_.stores[store].value, products.subspan(i)); };
      const auto ready = std::ranges::stable_partition(stores, waits);
      beside.assign(ready.begin(), ready.end());
      stores.erase(ready.begin(), ready.end());
    }
    if (products[i].begins >= 0) {
      block(grid, tasks_of(products[i].first, grid));
      open(products[i].begins);
    }
    product(open_.back().bound | grid, products[i], beside);
    if (products[i].ends >= 0) {
      close(products[i].ends, {});
    }
    forget_rows(grid);
  }
}

void TreeBuilder::product(AxisSet bound, const DraftProduct& product, std::vector<size_t> stores) {
  if (product.depth_blocks >= 0) {
    open(product.depth_blocks);
    bound |= axis_bit(product.depth_blocks);
  }
  in_product_ = true;
  stores.insert(stores.begin(), product.operands.begin(), product.operands.end());
  stores.insert(stores.end(), product.carried.begin(), product.carried.end());
  // What is carried is read and written in the same iteration over rows.
  const bool by_rows = product.by_rows || !product.carried.empty();
  const std::vector<int> rows = by_rows ? product.statement.rows : std::vector<int>{};
  if (!rows.empty()) {  // and the other operand, which all rows share, before
    const auto of_rows = std::ranges::stable_partition(stores, [&](size_t store) {
      return std::ranges::none_of(rows, [&](int axis) { return contains(draft_.stores[store].axes, axis); });
    });
    const std::vector<size_t> shared(stores.begin(), of_rows.begin());
    stores.erase(stores.begin(), of_rows.begin());
    block(bound, tasks_of(shared, bound));
  }
  AxisSet inside = bound;
  for (const int axis : rows) {
    open(axis);
    inside |= axis_bit(axis);
  }
  block(inside, tasks_of(stores, inside));
  for (size_t i = rows.size(); i-- > 0;) {
    close(rows[i], {});
  }
  in_product_ = false;
  if (product.each >= 0) {
    open(product.each);
  }
  open_.back().block.push_back({product.statement});
  if (product.each >= 0) {
    close(product.each, {});
  }
  if (product.depth_blocks >= 0) {
    close(product.depth_blocks, {});
  }
}

void TreeBuilder::add_phase(AxisSet grid, std::vector<size_t> stores, std::span<const DraftProduct> products,
                            AxisSet first, const ProductException& exception) {
  AxisSet loops = 0;
  loops::Phase phase;
  std::vector<int> tiles;
  for (const int axis : nesting_order(grid)) {
    if (draft_.axis(axis).binding == loops::Binding::lanes || draft_.axis(axis).tile_of >= 0) {
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
  add_products(grid, products, stores);
  const std::vector<int> around = nesting_order(first);
  for (const int axis : around) {
    open(axis);
  }
  block(grid | first, tasks_of(stores, grid | first));
  if (exception.unless >= 0) {
    define(exception.unless);
    open(exception.once);
    for (const size_t store : exception.stores) {
      block(grid | first, tasks_of({store}, grid | first));
    }
    close(exception.once, {}, exception.unless);
  }
  for (size_t i = around.size(); i-- > 0;) {
    close(around[i], {});
  }
  for (size_t i = inside.size(); i-- > 0;) {
    close(inside[i], {});
  }
  phase.body = std::move(open_.back().block);
  open_.clear();
  keeping_.clear();
  draft_.kernel.phases.push_back(std::move(phase));
}

}  // namespace tenon::schedule
