#include "tensor/realize/log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <iterator>
#include <map>
#include <mutex>
#include <string_view>

#include "tensor/record/symbols.h"
#include "tensor/record/user_lines.h"

namespace tenon::tensors {
namespace {

constexpr size_t kMostKept = 1000;
constexpr size_t kMostTimed = 64;  // of those, the last ones keep when each step ran

/// TENON_LOG: a level, "recompiles", or both with a comma between.
struct Asked {
  int level = 0;
  bool recompiles = false;

  static Asked from_environment() {
    const char* text = std::getenv("TENON_LOG");
    Asked asked;
    std::string_view rest = text == nullptr ? "" : text;
    while (!rest.empty()) {
      const std::string word(rest.substr(0, rest.find(',')));
      rest.remove_prefix(std::min(word.size() + 1, rest.size()));
      if (word == "recompiles") {
        asked.recompiles = true;
      } else {
        asked.level = std::clamp(std::atoi(word.c_str()), 0, 3);
      }
    }
    return asked;
  }
};

using Watcher = std::function<std::shared_ptr<void>(const std::string&)>;

struct History {
  std::mutex mutex;
  std::shared_ptr<const Watcher> watcher;
  std::deque<KeptRun> kept;
  RealizationCounts counts;
  Asked asked = Asked::from_environment();
};
History& history() {
  static auto& instance = *new History;
  return instance;
}

/// One step of a run, of all threads together.
struct Ran {
  int64_t begin = 0;
  int64_t end = 0;
  double bytes = 0;
  double flops = 0;
};

std::string line_of(const StepReport& step, int number, const Ran& ran) {
  const double ns = std::max<double>(1, static_cast<double>(ran.end - ran.begin));
  std::string line = fmt::format("tenon:   {:3} {:<40} {:8.3f} ms {:8.2f} MB {:7.2f} GB/s", number, step.label,
                                 ns / 1e6, ran.bytes / 1e6, ran.bytes / ns);
  if (ran.flops > 0) {
    line += fmt::format(" {:8.2f} GFLOP/s", ran.flops / ns);
  }
  if (!step.boundary.empty()) {
    line += fmt::format("  ends: {}", step.boundary);
  }
  return line;
}

std::string_view how_found(const KeptRun& run) {
  return run.interpreted ? "interpreted" : run.what.compiled ? "compiled" : run.what.laid_out ? "laid out" : "found";
}

std::string summary(const KeptRun& run) {
  const Realization& one = run.what;
  return fmt::format("{:<14} {:<28} {:>7} {:>6} {:>10} {:>7} {:>11} {:>10.3f}", one.reason, one.place, one.tensors,
                     one.writes, one.operations, one.kernels, how_found(run), one.milliseconds);
}

}  // namespace

int log_level() {
  History& all = history();
  const std::lock_guard lock(all.mutex);
  return all.asked.level;
}

std::string place_of(const std::source_location& where) {
  const UserLine at = user_line(where);
  if (at.file.empty() || at.line == 0) {
    return {};
  }
  return fmt::format("{}:{}", std::string_view(at.file).substr(at.file.find_last_of('/') + 1), at.line);
}

std::shared_ptr<void> begin_span(const std::function<std::string()>& text) {
  std::shared_ptr<const Watcher> told;
  {
    const std::lock_guard lock(history().mutex);
    told = history().watcher;
  }
  return told == nullptr ? nullptr : (*told)(text());
}

void log_realization(KeptRun run) {
  const Realization& realization = run.what;
  History& all = history();
  const std::lock_guard lock(all.mutex);
  if (all.asked.level > 0) {
    fmt::print(stderr, "tenon: {}{}{}: {} operations, {} writes, {} kernels, {}, {:.3f} ms\n", realization.reason,
               realization.place.empty() ? "" : " at ", realization.place, realization.operations, realization.writes,
               realization.kernels, how_found(run), realization.milliseconds);
  }
  if (all.asked.recompiles && !realization.why.empty()) {
    fmt::print(stderr, "tenon: compiled again{}{} ({:.0f} ms): {}\n", realization.place.empty() ? "" : " at ",
               realization.place, realization.compile_ms, realization.why);
  }
  ++all.counts.runs;
  all.counts.recompiles += !realization.why.empty();
  all.counts.compiles += realization.compiled;
  all.counts.laid_out += realization.laid_out;
  all.counts.kernels += realization.kernels;
  all.kept.push_back(std::move(run));
  if (all.kept.size() > kMostKept) {
    all.kept.pop_front();
  }
  if (all.kept.size() > kMostTimed) {
    all.kept[all.kept.size() - kMostTimed - 1].events = {};
  }
}

std::vector<KeptRun> kept_runs() {
  History& all = history();
  const std::lock_guard lock(all.mutex);
  return {all.kept.begin(), all.kept.end()};
}

RunLog::RunLog(const Program& program, bool compiled) : program_(program) {
  const int asked = log_level();
  prints_ = asked >= 2;
  if (prints_ || keeps_lines()) {
    trace_.emplace();
  }
  if (asked >= 3 && compiled) {
    fmt::print(stderr, "{}\n", program.executable.explain());
  }
}

RunLog::~RunLog() {
  if (!prints_) {
    return;
  }
  std::map<int, Ran> steps;
  for (const TraceEvent& event : trace_->events()) {
    const auto [at, fresh] = steps.try_emplace(event.step, Ran{event.begin_ns, event.end_ns});
    Ran& ran = at->second;
    ran.begin = std::min(ran.begin, event.begin_ns);
    ran.end = std::max(ran.end, event.end_ns);
    ran.bytes += event.bytes;
    ran.flops += event.flops.value_or(0);
  }
  const std::vector<StepReport>& reports = program_.executable.steps();
  for (const auto& [number, ran] : steps) {
    if (number >= 1 && static_cast<size_t>(number) <= reports.size()) {
      fmt::print(stderr, "{}\n", line_of(reports[static_cast<size_t>(number) - 1], number, ran));
    }
  }
}

}  // namespace tenon::tensors

namespace tenon {

std::vector<Realization> realizations() {
  auto& all = tensors::history();
  const std::lock_guard lock(all.mutex);
  std::vector<Realization> result;
  std::ranges::transform(all.kept, std::back_inserter(result), &tensors::KeptRun::what);
  return result;
}

RealizationCounts realization_counts() {
  auto& all = tensors::history();
  const std::lock_guard lock(all.mutex);
  return all.counts;
}

void clear_realizations() {
  auto& all = tensors::history();
  const std::lock_guard lock(all.mutex);
  all.kept.clear();
  all.counts = {};
}

std::string realizations_text() {
  std::string text = fmt::format("{:<14} {:<28} {:>7} {:>6} {:>10} {:>7} {:>11} {:>10}\n", "reason", "place", "tensors",
                                 "writes", "operations", "kernels", "program", "ms");
  for (const tensors::KeptRun& run : tensors::kept_runs()) {
    text += tensors::summary(run) + '\n';
  }
  return text;
}

void log_kernels(int level) {
  auto& all = tensors::history();
  const std::lock_guard lock(all.mutex);
  all.asked.level = std::clamp(level, 0, 3);
}

void watch_realizations(std::function<std::shared_ptr<void>(const std::string&)> began) {
  auto told = began ? std::make_shared<const tensors::Watcher>(std::move(began)) : nullptr;
  const std::lock_guard lock(tensors::history().mutex);
  tensors::history().watcher.swap(told);
}

void log_recompiles(bool on) {
  auto& all = tensors::history();
  const std::lock_guard lock(all.mutex);
  all.asked.recompiles = on;
}

}  // namespace tenon
