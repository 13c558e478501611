#include "schedule/blocks/short_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernel/loop/loop_walk.h"
#include "schedule/blocks/phase_edit.h"

namespace tenon::schedule {

ThreadLengths thread_lengths(const loops::Kernel& kernel) {
  ThreadLengths lengths;
  for_each_statement(kernel.phases.front().body, [&](const loops::Statement& statement) {
    const auto* const loop = std::get_if<loops::Loop>(&statement.what);
    if (loop == nullptr) return;
    const loops::Axis& axis = kernel.axes[static_cast<size_t>(loop->axis)];
    if (axis.binding != loops::Binding::threads) return;
    const Extent& length = axis.tile_of >= 0 ? axis.total : axis.extent;
    if (const auto known = length.constant()) {
      lengths.longest = std::max(lengths.longest, *known);
    } else if (std::ranges::find(lengths.unknown, length) == lengths.unknown.end()) {
      lengths.unknown.push_back(length);
    }
  });
  return lengths;
}

Extent is_any_longer(loops::Kernel& kernel, const ThreadLengths& lengths, int64_t most) {
  Extent times = 0;
  for (const Extent& each : lengths.unknown)
    times = max(times, floordiv(max(Extent(1), each) - 1, most));
  const std::string name = fmt::format("${}", kernel.arguments.size());
  kernel.arguments[name] = min(Extent(1), times).substitute(kernel.arguments);
  return Extent::name(name);
}

void run_where(loops::Kernel& kernel, const Extent& runs) {
  std::vector<int>& grid = kernel.phases.front().grid;
  if (grid.empty()) {
    grid.push_back(add_axis(kernel, {.extent = runs, .name = "where", .binding = loops::Binding::blocks}));
    return;
  }
  Extent& first = kernel.axes[static_cast<size_t>(grid.front())].extent;  // which no code divides by
  first = first * runs;
}

}  // namespace tenon::schedule
