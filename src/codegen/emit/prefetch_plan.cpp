#include "codegen/emit/prefetch_plan.h"

#include <algorithm>

#include "codegen/emit/vector_plan.h"

namespace tenon::codegen {

using namespace loops;

namespace {

/// More rows of memory at once than this are left to the processor.
constexpr size_t kMostPrefetches = 4;
/// Of a row, to be shared among loops: a step of four vectors fetches a line of each.
constexpr int kParts = 4;
constexpr int kStepCost = 3;

/// The loops around vectorised ones.
struct Around {
  int grid = -1;  // the innermost of the grid
  int loop = -1;  // that, or the innermost loop inside of it
};

/// Where the loop runs over a tile: the tile behind it, if that is next as soon as there is just one row.
std::optional<Prefetch::SingleRow> single_row(const Kernel& kernel, const loops::Loop& loop, const Around& around,
                                              const Affine& at) {
  const loops::Axis& axis = kernel.axes[static_cast<size_t>(loop.axis)];
  if (around.loop == around.grid || axis.tile_of != around.grid || scale_of(at, around.grid) != axis.extent) {
    return std::nullopt;
  }
  return Prefetch::SingleRow{.iterations = kernel.axes[static_cast<size_t>(around.loop)].extent, .ahead = axis.extent};
}

/// What the loop reads and writes side by side and anew in every iteration of the loop around it.
void add_prefetches(const Kernel& kernel, const loops::Loop& loop, const Around& around, bool alone,
                    std::vector<Prefetch>& prefetches) {
  const auto add = [&](int buffer, const Affine& at, bool writes) {
    const Extent next = around.loop < 0 ? Extent(0) : scale_of(at, around.loop);
    if (scale_of(at, loop.axis) != Extent(1) || next == Extent(0)) return;
    const Extent& length = kernel.axes[static_cast<size_t>(loop.axis)].extent;
    const bool apart = next != length;
    const Prefetch prefetch{.buffer = buffer,
                            .at = at,
                            .ahead = alone && !apart ? Extent(0) : next,
                            .apart = apart ? std::optional(length) : std::nullopt,
                            .single = apart ? single_row(kernel, loop, around, at) : std::nullopt,
                            .writes = writes};
    if (std::ranges::find(prefetches, prefetch) == prefetches.end()) prefetches.push_back(prefetch);
  };
  for (const Statement& statement : loop.body) {
    if (const auto* define = std::get_if<Define>(&statement.what)) {
      const auto* load = std::get_if<Load>(&kernel.values[static_cast<size_t>(define->value)].what);
      if (load != nullptr && load->lookups.empty() &&
          kernel.buffers[static_cast<size_t>(load->buffer)].role == Role::input) {
        add(load->buffer, load->at, false);
      }
    } else if (const auto* store = std::get_if<Store>(&statement.what)) {
      if (kernel.buffers[static_cast<size_t>(store->buffer)].role == Role::output) add(store->buffer, store->at, true);
    }
  }
}

class Planner {
 public:
  explicit Planner(const Kernel& kernel) : kernel_(kernel) {}

  void visit(const Block& block, const Around& around) {
    std::vector<const loops::Loop*> rows;
    for (const Statement& statement : block) {
      const auto* inner = std::get_if<loops::Loop>(&statement.what);
      if (inner == nullptr || inner->unless >= 0) continue;
      if (kernel_.axes[static_cast<size_t>(inner->axis)].binding == loops::Binding::lanes) {
        rows.push_back(inner);
      } else {
        visit(inner->body, {.grid = around.grid, .loop = inner->axis});
      }
    }
    if (!rows.empty()) plan_rows(rows, around);
  }

  PrefetchPlan plan;

 private:
  void plan_rows(const std::vector<const loops::Loop*>& rows, const Around& around) {
    const bool alone = rows.size() == 1;
    const loops::Loop* const dearest =
        *std::ranges::max_element(rows, {}, [&](const loops::Loop* each) { return block_cost(kernel_, each->body); });
    std::vector<Prefetch> prefetches;
    std::vector<const loops::Loop*> hosts;
    for (const loops::Loop* each : rows) {
      if (each->axis != dearest->axis) continue;
      add_prefetches(kernel_, *each, around, alone, prefetches);
      hosts.push_back(each);
    }
    if (prefetches.empty() || prefetches.size() > kMostPrefetches) return;
    if (hosts.size() == 1) {
      plan.emplace(hosts[0], std::move(prefetches));
    } else {
      share_out(prefetches, hosts);
    }
  }

  /// Every prefetch in parts, and those in order to the loops, so that each has fetched its share when it has done
  /// its share of the work. Where rows are written too, what is read comes rather late than early: the last loop waits
  /// for its stores anyway, and the first, which finds its row in a cache, for nothing.
  void share_out(const std::vector<Prefetch>& prefetches, const std::vector<const loops::Loop*>& hosts) {
    // What a step of a loop takes beside its statements counts too: cheap loops are not free.
    const auto cost = [&](const loops::Loop* each) { return block_cost(kernel_, each->body) + kStepCost; };
    int all = 0;
    for (const loops::Loop* each : hosts) {
      all += cost(each);
    }
    const bool writes = std::ranges::any_of(prefetches, &Prefetch::writes);
    for (Prefetch prefetch : prefetches) {
      const int rounding = writes && !prefetch.writes ? 0 : all / 2;
      prefetch.parts = kParts;
      int next = 0;
      int done = 0;
      for (const loops::Loop* each : hosts) {
        done += cost(each);
        prefetch.first_part = next;
        next = (done * kParts + rounding) / all;
        prefetch.share = next - prefetch.first_part;
        if (prefetch.share > 0) plan[each].push_back(prefetch);
      }
    }
  }

  const Kernel& kernel_;
};

}  // namespace

PrefetchPlan plan_prefetches(const Kernel& kernel) {
  Planner planner(kernel);
  for (const Phase& phase : kernel.phases) {
    const int innermost = phase.grid.empty() ? -1 : phase.grid.back();
    planner.visit(phase.body, {.grid = innermost, .loop = innermost});
  }
  return std::move(planner.plan);
}

}  // namespace tenon::codegen
