#include "tenon/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iterator>

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

std::string event_json(const TraceEvent& event, const Lane& lane) {
  const auto flops = event.gigaflops_per_second();
  return fmt::format(
      R"({{"ph": "X", "pid": {}, "tid": {}, "ts": {:.3f}, "dur": {:.3f}, "name": {}, "cat": {}, "args": )"
      R"({{"step": {}, "phase": {}, "bytes": {:.0f}, "GB/s": {:.3f}{}{}}}}})",
      lane.process, lane.number, static_cast<double>(event.begin_ns) / 1e3,
      static_cast<double>(event.end_ns - event.begin_ns) / 1e3, json_quoted(event.label), json_quoted(event.program),
      event.step, event.phase, event.bytes, event.gigabytes_per_second(),
      flops ? fmt::format(R"(, "GFLOP/s": {:.3f})", *flops) : "",
      event.tile < 0 ? "" : fmt::format(R"(, "tile": {})", event.tile));
}

std::string name_json(std::string_view what, const Lane& lane, const std::string& name) {
  return fmt::format(R"(,{}{{"ph": "M", "pid": {}, "tid": {}, "name": "{}", "args": {{"name": {}}}}})", '\n',
                     lane.process, lane.number, what, json_quoted(name));
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

int64_t Trace::now_ns() const { return clock_ns() - start_ns_; }

void Trace::add(std::vector<TraceEvent> events) {
  const std::lock_guard lock(mutex_);
  std::ranges::move(events, std::back_inserter(events_));
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
  return text + "\n]}\n";
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
