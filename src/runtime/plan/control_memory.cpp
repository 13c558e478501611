#include "runtime/plan/control_memory.h"

#include <algorithm>

#include "runtime/memory/arena.h"

namespace tenon::runtime {

int64_t control_bytes(const Program& program, const Plan& plan, const Specialization& s) {
  int64_t most = 0;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    const Span& bodies = plan.steps[i].bodies;
    int64_t bytes = 0;
    for (uint32_t k = bodies.first; k < bodies.end(); ++k) {
      bytes = std::max(bytes, aligned(s.bodies[k].memory.arena_bytes));
    }
    const auto* control = std::get_if<ControlStep>(&step.what);
    const auto* loop = control != nullptr ? std::get_if<LoopControl>(&control->control) : nullptr;
    for (int k = 0; loop != nullptr && k < loop->carried; ++k) {
      bytes += aligned(s.bytes(plan.slots[static_cast<size_t>(step.writes[static_cast<size_t>(k)])]));
    }
    most = std::max(most, bytes);
  }
  return most;
}

}  // namespace tenon::runtime
