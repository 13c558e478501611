#include "runtime/run/announcer.h"

#include <algorithm>

namespace tenon::runtime {
namespace {

/// The stage that each step runs in.
std::vector<size_t> stages_of_steps(const Context& context, const Specialization& s) {
  std::vector<size_t> stages(context.plan.steps.size(), 0);
  for (size_t i = 0; i < s.stages.size(); ++i) {
    const Stage& stage = s.stages[i];
    if (stage.region >= 0) {
      const TiledRegion& region = s.regions[static_cast<size_t>(stage.region)];
      std::fill_n(stages.begin() + region.first_step, region.steps, i);
    }
    if (stage.step >= 0) stages[static_cast<size_t>(stage.step)] = i;
    for (uint32_t launch = stage.launches.first; launch < stage.launches.end(); ++launch) {
      const Span ranges = s.launches[launch].ranges;
      for (uint32_t range = ranges.first; range < ranges.end(); ++range) {
        const PartPlan& part = context.plan.parts[static_cast<size_t>(s.ranges[range].part)];
        stages[static_cast<size_t>(part.step)] = i;
      }
    }
  }
  return stages;
}

}  // namespace

Announcer::Announcer(const Context& context, const Specialization& s, const RunState& state, RunObserver& observer)
    : c_(context), s_(s), state_(state), observer_(observer), outputs_(s.stages.size()) {
  const std::vector<size_t> stages = stages_of_steps(context, s);
  for (size_t i = 0; i < c_.plan.outputs.size(); ++i) {
    const OutputPlan& output = c_.plan.outputs[i];
    const Slot& slot = c_.plan.slots[static_cast<size_t>(output.slot)];
    const bool is_own = slot.memory == Memory::output && state.made[static_cast<size_t>(output.slot)] != nullptr;
    // Several that lie in one place may be steps of one chain of updates.
    if (!is_own || slot.outputs != 1 || slot.last < 0 || !s.is_whole(c_.plan, output)) continue;
    outputs_[stages[static_cast<size_t>(slot.last)]].push_back(i);
  }
}

void Announcer::after(size_t stage) {
  for (const size_t each : outputs_[stage]) {
    const OutputPlan& output = c_.plan.outputs[each];
    const auto slot = static_cast<size_t>(output.slot);
    observer_.on_output(each, Array::adopt(c_.plan.slots[slot].dtype, s_.values_of(output.dims), state_.made[slot]));
  }
  observer_.between_steps();
}

}  // namespace tenon::runtime
