#include "runtime/plan/in_place.h"

#include <algorithm>

namespace tenon::runtime {
namespace {

int only_use(const LaunchPart& part, int buffer) {
  return std::ranges::count(part.buffers, buffer) == 1
             ? static_cast<int>(std::ranges::find(part.buffers, buffer) - part.buffers.begin())
             : -1;
}

}  // namespace

bool runs_in_place(const Program& program, const Step& step, int from, int to) {
  if (const auto* routine = std::get_if<RoutineStep>(&step.what)) {  // a scatter changes some of what it reads first
    return std::holds_alternative<ScatterRoutine>(routine->routine) && step.reads.front() == from &&
           std::ranges::count(step.reads, from) == 1 && step.writes.front() == to;
  }
  // All that use either use both, and do not run side by side: they are one part and what takes its place.
  int users = 0;
  for (const LaunchPart& part : parts_of(step)) {
    const bool reads = std::ranges::find(part.buffers, from) != part.buffers.end();
    const bool writes = std::ranges::find(part.buffers, to) != part.buffers.end();
    if (!reads && !writes) {
      continue;
    }
    users += part.long_rows_of < 0 ? 1 : 0;
    const loops::MayShare pair{.input = only_use(part, from), .output = only_use(part, to)};
    const std::vector<loops::MayShare>& declared = program.facts[static_cast<size_t>(part.kernel)].may_share;
    if (users > 1 || std::ranges::find(declared, pair) == declared.end()) {
      return false;
    }
  }
  return users == 1;
}

}  // namespace tenon::runtime
