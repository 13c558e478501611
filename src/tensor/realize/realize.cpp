#include "tensor/realize/realize.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/clock.h"
#include "base/fail.h"
#include "base/refused.h"
#include "tenon/position_error.h"
#include "tenon/unsupported.h"
#include "tensor/realize/changing_numbers.h"
#include "tensor/realize/difference.h"
#include "tensor/realize/donate.h"
#include "tensor/realize/explain.h"
#include "tensor/realize/interpret_small.h"
#include "tensor/realize/log.h"
#include "tensor/realize/pending.h"
#include "tensor/realize/programs.h"
#include "tensor/realize/stored_along.h"
#include "tensor/realize/weights.h"
#include "tensor/record/cell.h"
#include "tensor/record/kept.h"
#include "tensor/record/leaf.h"
#include "tensor/record/record.h"
#include "tensor/record/replay.h"
#include "tensor/record/symbols.h"
#include "tensor/record/user_lines.h"

namespace tenon::tensors {
namespace {

const Array* elements(const Value& value) {
  const Value standing = resolve(value);
  const Leaf* leaf = leaf_of(standing.node());
  return leaf != nullptr ? &leaf->array : known_elements(standing);
}

/// Groups of roots that share an operation: a group's number for each.
class Groups {
 public:
  explicit Groups(size_t roots) : parent_(roots) { std::iota(parent_.begin(), parent_.end(), size_t{0}); }

  void join(size_t a, size_t b) { parent_[find(a)] = find(b); }
  size_t find(size_t i) {
    while (parent_[i] != i) {
      i = parent_[i] = parent_[parent_[i]];
    }
    return i;
  }

 private:
  std::vector<size_t> parent_;
};

/// The cells with pending writes that share an operation with `wanted`, directly or through each other.
std::vector<std::shared_ptr<Cell>> sharing_writes(const std::vector<Value>& wanted) {
  std::vector<std::shared_ptr<Cell>> written = written_cells();
  if (written.empty()) {
    return written;
  }
  std::vector<Value> roots = wanted;
  for (const auto& cell : written) {
    roots.push_back(cell->value);
  }
  Groups groups(roots.size());
  std::unordered_map<const Node*, size_t> owner;
  std::vector<const Value*> work;  // the roots hold all of them
  for (size_t i = 0; i < roots.size(); ++i) {
    work.assign(1, &roots[i]);
    while (!work.empty()) {
      const Value& value = resolve(*work.back());
      work.pop_back();
      if (value.node().inputs.empty() || known_elements(value) != nullptr) {  // leaves have no inputs
        continue;
      }
      const auto [at, fresh] = owner.emplace(&value.node(), i);
      if (!fresh) {
        groups.join(i, at->second);
        continue;
      }
      for (const Value& in : value.node().inputs) {
        work.push_back(&in);
      }
    }
  }
  std::erase_if(written, [&, i = wanted.size()](const auto&) mutable {
    const size_t group = groups.find(i++);
    for (size_t k = 0; k < wanted.size(); ++k) {
      if (groups.find(k) == group) {
        return false;
      }
    }
    return true;
  });
  return written;
}

/// The cell's elements are these from now on.
void settle(Cell& cell, const Array& array) {
  Leaf* leaf = leaf_of(cell.value.node());
  if (leaf != nullptr) {  // a stand-in: now it stands for itself
    leaf->array = array;
    leaf->known = true;
    leaf->definition = {};
    ++cell.version;
  } else if (cell.tracked) {
    remember(cell, array);
  } else {
    forget(cell);
    set_value(cell, make_leaf(array, shape_of_result(array, cell.value.shape())));
  }
  cell.origin = {};
  cell.depth = 0;
  set_written(cell, false);
}

/// One realisation: what is wanted, and what comes along.
struct LookPlan {
  std::vector<Value> values;                 // what is computed, each once
  std::vector<std::shared_ptr<Cell>> cells;  // that get elements
  std::vector<size_t> value_of_cell;         // which of `values` each gets
  std::vector<size_t> value_of_wanted;
};

size_t index_of(std::vector<Value>& values, const Value& value) {
  const auto found = std::ranges::find(values, value);
  if (found != values.end()) {
    return static_cast<size_t>(found - values.begin());
  }
  values.push_back(value);
  return values.size() - 1;
}

LookPlan make_plan(const std::vector<Handle*>& wanted, bool with_writes = true) {
  LookPlan plan;
  std::unordered_set<const Cell*> taken;
  for (Handle* handle : wanted) {
    plan.value_of_wanted.push_back(index_of(plan.values, resolve(handle->value())));
  }
  const auto take = [&](const std::shared_ptr<Cell>& cell) {
    if (taken.insert(cell.get()).second) {
      plan.cells.push_back(cell);
      plan.value_of_cell.push_back(index_of(plan.values, resolve(cell->value)));
    }
  };
  const std::vector<Value> asked = plan.values;
  for (Handle* handle : wanted) {
    if (handle->path.empty()) {
      take(handle->cell);
    }
  }
  if (with_writes) {
    std::ranges::for_each(sharing_writes(asked), take);
  }
  return plan;
}

/// Which leaf's memory each value may take over: that of the tensor that it is written to.
std::vector<int> find_aliases(const LookPlan& plan, const Pending& pending) {
  std::vector<int> aliases(plan.values.size(), -1);
  std::unordered_set<int> used;
  for (size_t i = 0; i < plan.cells.size(); ++i) {
    const Cell& cell = *plan.cells[i];
    if (!cell.written || !cell.origin) {
      continue;
    }
    for (size_t k = 0; k < pending.leaves().size(); ++k) {
      const int leaf = static_cast<int>(k);
      if (pending.leaf(k) == cell.origin && aliases[plan.value_of_cell[i]] == -1 &&
          pending.leaf(k).shape() == plan.values[plan.value_of_cell[i]].shape() && used.insert(leaf).second) {
        aliases[plan.value_of_cell[i]] = leaf;
      }
    }
  }
  return aliases;
}

/// A look at one integer that a program of the user's decides by; nothing where somebody wants to see its program.
std::optional<std::vector<Array>> interpret_if_small(const std::vector<Handle*>& wanted, const Pending& pending,
                                                     const Realization& report) {
  const bool is_asked = wanted.size() == 1 && !keeps_lines() && log_level() < 2;
  return is_asked ? interpret_small(pending, report.place) : std::nullopt;
}

std::vector<Array> run(LookPlan& plan, const std::vector<Handle*>& wanted, KeptRun& kept) {
  Realization& report = kept.what;
  for (Handle* handle : wanted) {
    Access::forget(*handle);
  }
  Pending pending(plan.values);
  open_changing_numbers(pending, report.place);
  const StoredAlong along(pending, plan.values, plan.cells, report.place);
  for (const Edge& edge : along.edges()) {
    pending.add_root(edge);
    plan.values.push_back(pending.at(edge));
  }
  report.operations = static_cast<int>(pending.entries().size() - pending.leaves().size());
  if (std::optional<std::vector<Array>> small = interpret_if_small(wanted, pending, report)) {
    kept.interpreted = true;
    along.finish(*small);
    return *std::move(small);
  }
  const std::vector<int> aliases = find_aliases(plan, pending);
  const FoundProgram found = find_program(pending, aliases, report.place);
  const WeightPrograms::Found version = found.program->weights->find(*found.program, pending);
  const Program& program = version.program ? *version.program : *found.program;
  report.kernels = program.kernels;
  report.compiled = found.compiled;
  report.why = found.why;
  report.laid_out = version.made;
  report.weights = version.weights;
  report.compile_ms = found.compile_ms;
  const Donation donation(plan.cells, plan.values, pending, aliases, program);
  std::vector<Array> inputs;
  for (size_t i = 0; i < pending.leaves().size(); ++i) {
    inputs.push_back(elements_of(pending.leaf(i)));
  }
  kept.program = version.program ? version.program : found.program;
  kept.bindings = keeps_lines() ? bindings_of_run(program.executable, inputs, found.bindings) : Bindings();
  const auto span =
      begin_span([&] { return fmt::format("{} operations in {} kernels", report.operations, report.kernels); });
  RunLog log(program, found.compiled || version.made);
  try {
    std::vector<Array> results = donation.run(program.executable, std::move(inputs),
                                              {.threads = lazy_settings().threads,
                                               .bindings = found.bindings,
                                               .cancel = lazy_settings().cancel,
                                               .trace = log.trace()});
    along.finish(results);
    kept.events = keeps_lines() ? log.events() : std::vector<TraceEvent>();
    return results;
  } catch (const PositionError& error) {
    PositionError told(error.message());
    if (const std::string line = recorded_at(pending, *found.program->plain, error.place()); !line.empty()) {
      told.note(fmt::format("recorded at {}", line));
    }
    throw PositionError(std::move(told));
  }
}

/// Run the plan, or what is asked for alone where a write that comes along cannot be computed: its sizes or memory are
/// refused, no kernel serves it, or it reads a position that is not there. A failure changes no cell: each still stands
/// for what was recorded.
std::vector<Array> run_or_alone(LookPlan& plan, const std::vector<Handle*>& wanted, KeptRun& kept) {
  std::optional<LookPlan> alone;
  const auto leaves_no_write = [&] {
    alone = make_plan(wanted, false);
    return alone->cells.size() == plan.cells.size();
  };
  try {
    return run(plan, wanted, kept);
  } catch (const Refused&) {
    if (leaves_no_write()) {
      throw;
    }
  } catch (const Unsupported&) {
    if (leaves_no_write()) {
      throw;
    }
  } catch (const PositionError&) {
    if (leaves_no_write()) {
      throw;
    }
  }
  plan = *std::move(alone);
  return run(plan, wanted, kept);
}

}  // namespace

namespace {

/// Writes that share nothing with what is looked at, such as those of counters, grow with each step. Together they are
/// a program of their own. One that cannot be computed says so to whoever looks at it, and is rarely tried again.
void compute_deep_writes(const std::source_location& where) {
  thread_local bool is_computing = false;
  static std::atomic<int> deepest = 16;
  std::vector<Tensor> deep;
  for (const auto& cell : is_computing ? std::vector<std::shared_ptr<Cell>>() : written_cells()) {
    if (cell->depth >= deepest && !cell->tracked) {
      auto handle = std::make_shared<Handle>();
      handle->cell = cell;
      deep.emplace_back(std::move(handle));
    }
  }
  if (deep.empty()) {
    return;
  }
  is_computing = true;
  const auto wait_longer = [] { deepest = std::min(2 * deepest, kMostPending); };
  try {
    realize_tensors(deep, "writes that nobody looks at", where);
  } catch (const Refused&) {
    wait_longer();
  } catch (const Unsupported&) {
    wait_longer();
  } catch (const PositionError&) {
    wait_longer();
  } catch (...) {
    is_computing = false;
    throw;
  }
  is_computing = false;
}

}  // namespace

std::vector<Array> realize_tensors(const std::vector<Tensor>& tensors, std::string_view reason,
                                   const std::source_location& where) {
  require_elements();
  std::vector<Handle*> wanted;
  bool all_known = true;
  for (const Tensor& tensor : tensors) {
    wanted.push_back(&Access::handle(tensor));
    all_known &= elements(wanted.back()->value()) != nullptr;
  }
  std::vector<Array> results;
  if (all_known) {
    for (Handle* handle : wanted) {
      results.push_back(*elements(handle->value()));
    }
    return results;
  }
  drop_unused_elements();
  const int64_t start = nanoseconds_now();
  KeptRun kept{
      .what = {.reason = std::string(reason), .place = place_of(where), .tensors = static_cast<int>(wanted.size())}};
  Realization& report = kept.what;
  const auto span = begin_span(
      [&] { return report.place.empty() ? report.reason : fmt::format("{} at {}", report.reason, report.place); });
  LookPlan plan = make_plan(wanted);
  const std::vector<Array> arrays = run_or_alone(plan, wanted, kept);
  report.writes = static_cast<int>(std::ranges::count_if(plan.cells, [](const auto& cell) { return cell->written; }));
  for (size_t i = 0; i < plan.cells.size(); ++i) {
    settle(*plan.cells[i], arrays[plan.value_of_cell[i]]);
  }
  for (const size_t i : plan.value_of_wanted) {
    results.push_back(arrays[i]);
  }
  report.milliseconds = static_cast<double>(nanoseconds_now() - start) / 1e6;
  log_realization(std::move(kept));
  compute_deep_writes(where);
  return results;
}

void discard_pending(const Tensor& tensor) {
  Cell& cell = *Access::handle(tensor).cell;
  if (!cell.written) {
    return;
  }
  if (!cell.origin) {
    fail("discard_writes(): {} was written before its elements were ever computed; there is nothing to go back to",
         tensor.shape().to_string());
  }
  Value before = std::exchange(cell.origin, {});
  if (cell.wants_gradient) {
    before = make_stand_in(before);
    leaf_of(before.node())->wants_gradient = cell.weak_from_this();
  }
  set_value(cell, std::move(before));
  cell.tracked = cell.wants_gradient;
  cell.depth = 0;
  set_written(cell, false);
}

Graph planned_graph(const std::vector<Tensor>& tensors) {
  std::vector<Handle*> wanted;
  for (const Tensor& tensor : tensors) {
    wanted.push_back(&Access::handle(tensor));
  }
  const LookPlan plan = make_plan(wanted);
  const Pending pending(plan.values);
  return plain_graph(pending, find_aliases(plan, pending));
}

void limit_pending(std::span<const Tensor> operands) {
  for (const Tensor& operand : operands) {
    Handle& handle = Access::handle(operand);
    const Value value = handle.value();
    handle.cell->depth = Pending({&value, 1}).depth();
  }
  if (std::ranges::any_of(operands,
                          [](const Tensor& one) { return Access::handle(one).cell->depth >= kMostPending; })) {
    realize_tensors({operands.begin(), operands.end()}, "pending limit", {});
  }
}

}  // namespace tenon::tensors
