#include "tenon/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iterator>

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

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      result += fmt::format("\\u{:04x}", static_cast<int>(c));
    } else {
      result += c;
    }
  }
  return result + '"';
}

double per_nanosecond(double amount, const TraceEvent& event) {
  return amount / static_cast<double>(std::max<int64_t>(1, event.end_ns - event.begin_ns));
}

std::string event_json(const TraceEvent& event) {
  const auto flops = event.gigaflops_per_second();
  return fmt::format(R"({{"ph": "X", "pid": 1, "tid": {}, "ts": {:.3f}, "dur": {:.3f}, "name": {}, "cat": {}, "args": )"
                     R"({{"step": {}, "phase": {}, "bytes": {:.0f}, "GB/s": {:.3f}{}}}}})",
                     event.thread, static_cast<double>(event.begin_ns) / 1e3,
                     static_cast<double>(event.end_ns - event.begin_ns) / 1e3, quoted(event.label),
                     quoted(event.program), event.step, event.phase, event.bytes, event.gigabytes_per_second(),
                     flops ? fmt::format(R"(, "GFLOP/s": {:.3f})", *flops) : "");
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
  std::vector<int> threads;
  for (const TraceEvent& event : all) {
    threads.push_back(event.thread);
  }
  std::ranges::sort(threads);
  threads.erase(std::ranges::unique(threads).begin(), threads.end());
  for (const int thread : threads) {
    text += fmt::format(
        ",\n{{\"ph\": \"M\", \"pid\": 1, \"tid\": {0}, \"name\": \"thread_name\", \"args\": "
        "{{\"name\": \"thread {0}\"}}}}",
        thread);
  }
  for (const TraceEvent& event : all) {
    text += ",\n" + event_json(event);
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
