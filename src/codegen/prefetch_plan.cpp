#include "codegen/prefetch_plan.h"

#include <algorithm>

#include "codegen/vector_plan.h"

namespace tenon::codegen {

using namespace loops;

namespace {

/// More streams at once than this are left to the processor.
constexpr size_t kStreams = 4;
/// Of a row, to be shared among loops: a step of four vectors fetches a line of each.
constexpr int kParts = 4;
constexpr int kStepCost = 3;

/// What the loop reads and writes side by side and anew in every iteration of the loop `around` it.
void add_streams(const Kernel& kernel, const loops::Loop& loop, int around, bool alone,
                 std::vector<Prefetch>& streams) {
  const auto add = [&](int buffer, const Affine& at, bool writes) {
    const Extent next = around < 0 ? Extent(0) : scale_of(at, around);
    if (scale_of(at, loop.axis) != Extent(1) || next == Extent(0)) return;
    const Extent& length = kernel.axes[static_cast<size_t>(loop.axis)].extent;
    const bool apart = next != length;
    const Prefetch prefetch{.buffer = buffer,
                            .at = at,
                            .ahead = alone && !apart ? Extent(0) : next,
                            .apart = apart ? std::optional(length) : std::nullopt,
                            .writes = writes};
    if (std::ranges::find(streams, prefetch) == streams.end()) streams.push_back(prefetch);
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

  void visit(const Block& block, int around) {
    std::vector<const loops::Loop*> rows;
    for (const Statement& statement : block) {
      const auto* inner = std::get_if<loops::Loop>(&statement.what);
      if (inner == nullptr) continue;
      if (kernel_.axes[static_cast<size_t>(inner->axis)].vectorized) {
        rows.push_back(inner);
      } else {
        visit(inner->body, inner->axis);
      }
    }
    if (!rows.empty()) plan_rows(rows, around);
  }

  PrefetchPlan plan;

 private:
  void plan_rows(const std::vector<const loops::Loop*>& rows, int around) {
    const bool alone = rows.size() == 1;
    const loops::Loop* const dearest =
        *std::ranges::max_element(rows, {}, [&](const loops::Loop* each) { return block_cost(kernel_, each->body); });
    std::vector<Prefetch> streams;
    std::vector<const loops::Loop*> hosts;
    for (const loops::Loop* each : rows) {
      if (each->axis != dearest->axis) continue;
      add_streams(kernel_, *each, around, alone, streams);
      hosts.push_back(each);
    }
    if (streams.empty() || streams.size() > kStreams) return;
    if (hosts.size() == 1) {
      plan.emplace(hosts[0], std::move(streams));
    } else {
      share_out(streams, hosts);
    }
  }

  /// Every stream in parts, and the parts in order to the loops, so that each has done its share of them when it has
  /// done its share of the work.
  void share_out(const std::vector<Prefetch>& streams, const std::vector<const loops::Loop*>& hosts) {
    // What a step of a loop takes beside its statements counts too: cheap loops are not free.
    const auto cost = [&](const loops::Loop* each) { return block_cost(kernel_, each->body) + kStepCost; };
    int all = 0;
    for (const loops::Loop* each : hosts) {
      all += cost(each);
    }
    const int parts = static_cast<int>(streams.size()) * kParts;
    int done = 0;
    int shared = 0;
    for (const loops::Loop* each : hosts) {
      done += cost(each);
      for (const int until = (done * parts + all / 2) / all; shared < until; ++shared) {
        Prefetch prefetch = streams[static_cast<size_t>(shared / kParts)];
        prefetch.part = shared % kParts;
        prefetch.parts = kParts;
        plan[each].push_back(std::move(prefetch));
      }
    }
  }

  const Kernel& kernel_;
};

}  // namespace

PrefetchPlan plan_prefetches(const Kernel& kernel) {
  Planner planner(kernel);
  for (const Phase& phase : kernel.phases) {
    planner.visit(phase.body, phase.grid.empty() ? -1 : phase.grid.back());
  }
  return std::move(planner.plan);
}

}  // namespace tenon::codegen
