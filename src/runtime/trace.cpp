#include "tenon/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "runtime/run/watch.h"

namespace tenon {
namespace {

int64_t clock_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// The same for a thread as long as it lives.
int thread_number() {
  static std::atomic<int> next = 0;
  thread_local const int number = next.fetch_add(1, std::memory_order_relaxed);
  return number;
}

double per_nanosecond(double amount, const TraceEvent& event) {
  return amount / static_cast<double>(std::max<int64_t>(1, event.end_ns - event.begin_ns));
}

constexpr int kThreads = 1;  // processes of the viewers, which have lanes: of threads,
constexpr int kSteps = 2;    // of steps that run tile by tile

/// Slices of a lane must not overlap, and several threads may be at one step: each has a lane there.
/// No lane is number 0: that is the idle thread of the machine to Perfetto.
constexpr int kMostThreads = 1000;
int lane_of(const TraceEvent& event) { return event.step * kMostThreads + event.thread % kMostThreads; }

struct Lane {
  int process = kThreads;
  int number = 0;
};

/// Names come from files, which may have any bytes.
std::string quoted(std::string_view text) { return json_quoted(valid_utf8(text)); }

/// Nodes first: viewers cut what is too long for a slice.
std::string name_of(const TraceEvent& event) {
  return event.nodes.empty() ? event.label : fmt::format("{} ({})", event.nodes, event.label);
}

std::string event_json(const TraceEvent& event, const Lane& lane) {
  const auto flops = event.gigaflops_per_second();
  return fmt::format(
      R"({{"ph": "X", "pid": {}, "tid": {}, "ts": {:.3f}, "dur": {:.3f}, "name": {}, "cat": {}, "args": )"
      R"({{"run": {}, "step": {}{}, "operators": {}{}, "phase": {}, "bytes": {:.0f}, "GB/s": {:.3f}{}{}}}}})",
      lane.process, lane.number, static_cast<double>(event.begin_ns) / 1e3,
      static_cast<double>(event.end_ns - event.begin_ns) / 1e3, quoted(name_of(event)), quoted(event.program),
      event.run, event.step, event.inside == 0 ? "" : fmt::format(R"(, "step inside": {})", event.inside),
      quoted(event.label), event.nodes.empty() ? "" : fmt::format(R"(, "nodes": {})", quoted(event.nodes)), event.phase,
      event.bytes, event.gigabytes_per_second(), flops ? fmt::format(R"(, "GFLOP/s": {:.3f})", *flops) : "",
      event.tile < 0 ? "" : fmt::format(R"(, "tile": {})", event.tile));
}

/// One end of an arrow: the slice of a row that is there at that time.
std::string arrow_end_json(std::string_view phase, size_t arrow, int thread, int64_t at_ns) {
  return fmt::format(
      R"(,{}{{"ph": "{}", {}"id": {}, "pid": {}, "tid": {}, "ts": {:.3f}, "name": "reads", "cat": "reads"}})", '\n',
      phase, phase == "f" ? R"("bp": "e", )" : "", arrow, kThreads, thread + 1, static_cast<double>(at_ns) / 1e3);
}

/// Arrows from the stretch of a step that ended last before another began that reads its results. `events` are of one
/// trace.
std::string arrows_json(const std::vector<TraceEvent>& events) {
  std::map<std::pair<int64_t, int>, std::vector<const TraceEvent*>> of_steps;  // by run and step
  for (const TraceEvent& event : events) {
    if (event.inside == 0) {
      of_steps[{event.run, event.step}].push_back(&event);
    }
  }
  std::string text;
  size_t arrows = 0;
  for (const auto& [run_and_step, stretches] : of_steps) {
    const TraceEvent& to = **std::ranges::min_element(stretches, {}, &TraceEvent::begin_ns);
    for (const int step : to.reads) {
      const TraceEvent* from = nullptr;
      const auto made = of_steps.find({run_and_step.first, step});
      for (const TraceEvent* each : made == of_steps.end() ? std::vector<const TraceEvent*>() : made->second) {
        if (each->end_ns <= to.begin_ns && (from == nullptr || each->end_ns > from->end_ns)) {
          from = each;
        }
      }
      if (from != nullptr) {
        text += arrow_end_json("s", ++arrows, from->thread, from->begin_ns + (from->end_ns - from->begin_ns) / 2);
        text += arrow_end_json("f", arrows, to.thread, to.begin_ns);
      }
    }
  }
  return text;
}

std::string name_json(std::string_view what, const Lane& lane, const std::string& name) {
  return fmt::format(R"(,{}{{"ph": "M", "pid": {}, "tid": {}, "name": "{}", "args": {{"name": {}}}}})", '\n',
                     lane.process, lane.number, what, quoted(name));
}

/// Each number once.
template <class Number>
std::vector<int> lanes(const std::vector<TraceEvent>& events, const Number& number) {
  std::vector<int> all;
  for (const TraceEvent& event : events) {
    if (const int lane = number(event); lane >= 0) {
      all.push_back(lane);
    }
  }
  std::ranges::sort(all);
  all.erase(std::ranges::unique(all).begin(), all.end());
  return all;
}

}  // namespace

double TraceEvent::gigabytes_per_second() const { return per_nanosecond(bytes, *this); }

std::optional<double> TraceEvent::gigaflops_per_second() const {
  return flops ? std::optional(per_nanosecond(*flops, *this)) : std::nullopt;
}

Trace::Trace() : start_ns_(clock_ns()) {}

Trace::Trace(int64_t start_ns) : start_ns_(start_ns) {}

std::unique_ptr<Trace> Trace::with_same_clock() const { return std::unique_ptr<Trace>(new Trace(start_ns_)); }

int64_t Trace::now_ns() const { return clock_ns() - start_ns_; }

void Trace::add(std::vector<TraceEvent> events) {
  const std::lock_guard lock(mutex_);
  ++runs_;
  for (TraceEvent& event : events) {
    event.run = runs_;
    events_.push_back(std::move(event));
  }
}

std::vector<TraceEvent> Trace::events() const {
  const std::lock_guard lock(mutex_);
  return events_;
}

std::string Trace::to_json() const {
  const std::vector<TraceEvent> all = events();
  std::string text = "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n";
  text += R"({"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "tenon"}})";
  for (const int thread : lanes(all, [](const TraceEvent& event) { return event.thread; })) {
    text += name_json("thread_name", {kThreads, thread + 1}, fmt::format("thread {}", thread));
  }
  const std::vector<int> tiled =
      lanes(all, [](const TraceEvent& event) { return event.tile < 0 ? -1 : lane_of(event); });
  if (!tiled.empty()) {
    text += name_json("process_name", {kSteps, tiled.front()}, "tenon: tile by tile");
  }
  for (const int lane : tiled) {
    text += name_json("thread_name", {kSteps, lane},
                      fmt::format("step {}, thread {}", lane / kMostThreads, lane % kMostThreads));
  }
  for (const TraceEvent& event : all) {
    text += ",\n" + event_json(event, {kThreads, event.thread + 1});
    text += event.tile < 0 ? "" : ",\n" + event_json(event, {kSteps, lane_of(event)});
  }
  return text + arrows_json(all) + "\n]}\n";
}

namespace runtime {

void Watch::add(Stretch stretch) {
  stretch.thread = thread_number();
  const std::lock_guard lock(mutex_);
  if (stretch.inside.context == nullptr || stretches_.size() < kMostInside) {
    stretches_.push_back(stretch);
  }
}

}  // namespace runtime
}  // namespace tenon
