#include "cli/explain/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/print/units.h"
#include "kernel/program/step_text.h"

namespace tenon::cli {

using report::BoundStep;
using report::most_to_win;

std::string limit_text(const roofs::Limit& limit, const BoundStep& step) {
  return step.threads <= 0 ? limit.by
                           : fmt::format("{} of {} thread{}", limit.by, step.threads, step.threads == 1 ? "" : "s");
}

std::string roofline_text(const Roofline& roofline, const std::vector<BoundStep>& steps, const Executable& executable) {
  const roofs::Roofs& roofs = roofline.roofs;
  std::set<int> used = {roofs.rates.back().threads};  // all threads, and as many as steps took
  for (const BoundStep& step : steps) {
    if (step.threads > 0) {
      used.insert(std::min(step.threads, roofs.rates.back().threads));
    }
  }
  std::string text;
  for (const int threads : used) {
    text += fmt::format("roofs of {} {}, measured:", threads, threads == 1 ? "thread" : "threads");
    for (size_t i = 0; i < roofs::kUnits; ++i) {
      const auto unit = static_cast<roofs::Unit>(i);
      text += fmt::format("{} {} {}OP/s", i == 0 ? "" : ",", name(unit), count_text(roofs.operations(unit, threads)));
    }
    text += "\n ";
    for (size_t i = 0; i < roofs.levels.size(); ++i) {
      text +=
          fmt::format("{} {} {}B/s", i == 0 ? "" : ",", roofs.levels[i].name, count_text(roofs.bandwidth(i, threads)));
    }
    text += '\n';
  }
  for (const size_t i : most_to_win(roofline, steps)) {
    text += fmt::format("  could be won: {} of {} in step {} `{}`, limited by {}\n",
                        time_text(report::time_to_win(roofline, steps, i)), time_text(steps[i].microseconds), i + 1,
                        step_title(executable.steps()[i].nodes, executable.steps()[i].label),
                        limit_text(roofline.limits[i], steps[i]));
  }
  return text;
}

}  // namespace tenon::cli
