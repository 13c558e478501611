#include "runtime/plan/like_steps.h"

#include <algorithm>
#include <map>

namespace tenon::runtime {
namespace {

/// What the choice of tiles reads of the steps from one on, as numbers.
class Description {
 public:
  Description(const Program& program, const Plan& plan, int first, int end)
      : program_(program), plan_(plan), first_(first), end_(end) {}

  std::vector<int64_t> run() {
    for (int step = first_; step < end_; ++step) {
      add(-1);
      const Span& parts = plan_.steps[static_cast<size_t>(step)].parts;
      for (uint32_t i = parts.first; i < parts.end(); ++i) {
        add_part(plan_.parts[i]);
      }
      add(-2);
      for (const int slot : program_.steps[static_cast<size_t>(step)].reads) {
        add_slot(slot);
      }
      add(-3);
      for (const int slot : program_.steps[static_cast<size_t>(step)].writes) {
        add_slot(slot);
      }
      add(writes_state(step) ? -5 : -4);
    }
    return std::move(numbers_);
  }

 private:
  void add(int64_t number) { numbers_.push_back(number); }

  void add_part(const PartPlan& part) {
    const KernelPlan& kernel = plan_.kernels[static_cast<size_t>(part.kernel)];
    for (uint32_t i = kernel.phases.first; i < kernel.phases.end(); ++i) {
      add(plan_.phases[i].grid);
      add(plan_.phases[i].work);
    }
    const int before = static_cast<int>(plan_.steps[static_cast<size_t>(part.step)].parts.first);
    add(part.long_rows < 0 ? -1 : part.long_rows - before);
    add(part.long_rows_of < 0 ? -1 : part.long_rows_of - before);
    add(part.row_bytes);
    add(part.writes.count);
    add(part.rows.items);
    add(part.rows.rows);
    for (uint32_t i = part.rows.uses.first; i < part.rows.uses.end(); ++i) {
      add_use(plan_.row_uses[i]);
    }
    const size_t arguments = program_.facts[static_cast<size_t>(part.kernel)].phases.front().buffers.size();
    for (size_t i = 0; i < arguments; ++i) {
      add_slot(plan_.arguments[part.first_argument + i]);
    }
  }

  void add_use(const RowUsePlan& use) {
    add(use.argument);
    add(use.writes ? 1 : 0);
    add_slot(use.slot);
    for (uint32_t i = use.touched.first; i < use.touched.end(); ++i) {
      const TouchedPlan& each = plan_.touched[i];
      for (const RowExtentId id : {each.first, each.last, each.step, each.item_step, each.least, each.most}) {
        add(id);
      }
    }
  }

  /// By the order in which slots come, and where they live.
  void add_slot(int slot) {
    if (slot < 0) {
      add(-1);
      return;
    }
    const auto [found, fresh] = slots_.emplace(slot, static_cast<int>(slots_.size()));
    add(found->second);
    if (fresh) {
      const Slot& plan = plan_.slots[static_cast<size_t>(slot)];
      add(static_cast<int64_t>(plan.dtype));
      add(static_cast<int64_t>(plan.memory));
      add(plan.elements);
      add(plan.outputs);
      add(std::clamp(plan.first, first_ - 1, end_) - first_);
      add(std::clamp(plan.last, first_ - 1, end_) - first_);
    }
  }

  bool writes_state(int step) const {
    return std::ranges::any_of(plan_.slots, [&](const Slot& slot) {
      return slot.memory == Memory::output && slot.in_place >= 0 && slot.first <= step && slot.last >= step;
    });
  }

  const Program& program_;
  const Plan& plan_;
  int first_, end_;
  std::vector<int64_t> numbers_;
  std::map<int, int> slots_;
};

}  // namespace

void find_like_steps(const Program& program, Plan& plan) {
  if (!program.pipelines.on) {
    return;  // then nobody asks
  }
  std::map<std::vector<int64_t>, int> known;
  for (const Region& region : program.regions) {
    const int end = region.first + region.count;
    for (int step = region.first; step < end; ++step) {
      const int last = std::min(end, step + kMostRegionSteps);
      const auto [found, fresh] = known.emplace(Description(program, plan, step, last).run(), step);
      plan.steps[static_cast<size_t>(step)].like = found->second;
    }
  }
}

}  // namespace tenon::runtime
