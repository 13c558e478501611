#include "codegen/prefetch_plan.h"

#include <algorithm>

#include "codegen/vector_plan.h"

namespace tenon::codegen {

using namespace loops;

namespace {

/// More streams at once than this are left to the processor.
constexpr size_t kStreams = 4;

/// What the loop reads and writes side by side and anew in every iteration of the loop `around` it.
void add_streams(const Kernel& kernel, const loops::Loop& loop, int around, bool alone,
                 std::vector<Prefetch>& streams) {
  const auto add = [&](int buffer, const Affine& at, bool writes) {
    const Extent next = around < 0 ? Extent(0) : scale_of(at, around);
    if (scale_of(at, loop.axis) != Extent(1) || next == Extent(0)) return;
    const Prefetch prefetch{.buffer = buffer, .at = at, .ahead = alone ? Extent(0) : next, .writes = writes};
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
    const loops::Loop* const host =
        *std::max_element(rows.begin() + (alone ? 0 : 1), rows.end(), [&](const loops::Loop* a, const loops::Loop* b) {
          return block_cost(kernel_, a->body) < block_cost(kernel_, b->body);
        });
    std::vector<Prefetch> streams;
    for (const loops::Loop* each : rows) {
      if (each->axis == host->axis) add_streams(kernel_, *each, around, alone, streams);
    }
    if (!streams.empty() && streams.size() <= kStreams) plan.emplace(host, std::move(streams));
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
