#include "cli/explain/explain_steps.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/explain/roofline.h"
#include "cli/print/units.h"
#include "report/tile_lines.h"
#include "tenon/tenon.h"

namespace tenon::cli {

namespace {

std::string counted(int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// All arithmetic, or, where only these are known, additions and multiplications of products.
double operations_of_step(const BoundStep& step, const Roofline& roofline, size_t i) {
  return roofline.works.empty() ? static_cast<double>(step.flops) : roofline.works[i].all_operations();
}

}  // namespace

std::string lead_text(const Machine& machine, const Executable& executable, const report::Figures& bound) {
  std::string text = counted(std::ssize(executable.steps()), "step");
  if (machine != this_machine()) {
    text += "; for " + machine.name;
  } else if (bound.has_sizes()) {
    text += "; " + executable.capabilities().code;
  }
  return !bound.has_sizes() ? text : fmt::format("{}; at {}", text, bound.bindings.to_string());
}

std::string bound_table(const std::vector<BoundStep>& steps, const Roofline& roofline, const Executable& executable,
                        const Bindings& bindings) {
  const bool timed = !steps.empty() && steps[0].microseconds >= 0;
  std::string text = fmt::format("at {}:\n", bindings.to_string());
  BoundStep all{.microseconds = 0};
  const auto line = [&](const std::string& step, const BoundStep& figures, double operations,
                        const roofs::Limit* limit) {
    text += fmt::format("  {:>4} {:>12} {:>12} {:>10}", step, bytes_text(figures.bytes_read),
                        bytes_text(figures.bytes_written), operations == 0 ? "-" : count_text(operations));
    if (timed) {
      text += fmt::format(" {:>11}", time_text(figures.microseconds));
    }
    if (limit != nullptr) {
      const double least = limit->seconds * 1e6;
      text += least <= 0 ? fmt::format(" {:>11}", "-")
                         : fmt::format(" {:>11} {:>7.1f}  {}", time_text(least), figures.microseconds / least,
                                       limit->by.empty() ? "" : limit_text(*limit, figures));
    }
    text += '\n';
  };
  if (!steps.empty()) {
    text += fmt::format("  {:>4} {:>12} {:>12} {:>10}{}{}\n", "step", "reads", "writes", "FLOPs",
                        timed ? fmt::format(" {:>11}", "time") : "",
                        roofline.known() ? fmt::format(" {:>11} {:>7}  {}", "limit", "times", "limited by") : "");
  }
  roofs::Limit least;
  double all_operations = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    const double operations = operations_of_step(steps[i], roofline, i);
    line(std::to_string(i + 1), steps[i], operations, roofline.known() ? &roofline.limits[i] : nullptr);
    all.bytes_read += steps[i].bytes_read;
    all.bytes_written += steps[i].bytes_written;
    all.microseconds += steps[i].microseconds;
    all_operations += operations;
    least.seconds += roofline.known() ? roofline.limits[i].seconds : 0;
  }
  if (!steps.empty()) {
    line("all", all, all_operations, roofline.known() ? &least : nullptr);
  } else {
    text += "  no step runs: each output is an input or a constant as it is\n";
  }
  const MemoryReport memory = executable.memory(bindings);
  text += fmt::format("intermediates of {} share {}; outputs take {}\n", bytes_text(memory.intermediate_bytes),
                      bytes_text(memory.arena_bytes), bytes_text(memory.output_bytes));
  text += roofline.known() ? roofline_text(roofline, steps, executable) : "";
  for (const std::string& each : report::tile_lines(executable.pipelines(bindings))) {
    text += each + '\n';
  }
  return text;
}

}  // namespace tenon::cli
