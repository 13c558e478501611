#include "report/run_timeline.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tenon::report {
namespace {

struct Stretch {
  int step = 0;
  int64_t begin = 0;
  int64_t end = 0;
};

/// To 10 ns, which no screen shows.
double microseconds_of(int64_t nanoseconds) { return std::round(static_cast<double>(nanoseconds) / 10) / 100; }

}  // namespace

Json run_timeline_json(std::vector<TraceEvent> events) {
  constexpr size_t kMost = 20000;
  std::ranges::sort(events, {}, &TraceEvent::begin_ns);
  std::map<int, std::vector<Stretch>> threads;
  std::map<int, int64_t> busy;
  const int64_t start = events.empty() ? 0 : events.front().begin_ns;
  int64_t end = start;
  size_t kept = 0;
  size_t left_out = 0;
  for (const TraceEvent& event : events) {
    std::vector<Stretch>& lane = threads[event.thread];
    end = std::max(end, event.end_ns);
    // Steps of a body lie inside of the step that runs it: time counts once.
    const int64_t before = lane.empty() ? event.begin_ns : std::max(lane.back().end, event.begin_ns);
    busy[event.thread] += std::max<int64_t>(0, event.end_ns - before);
    if (!lane.empty() && lane.back().step == event.step) {
      lane.back().end = std::max(lane.back().end, event.end_ns);
    } else if (kept < kMost) {
      lane.push_back({.step = event.step, .begin = event.begin_ns, .end = event.end_ns});
      ++kept;
    } else {
      ++left_out;
    }
  }
  Json all = Json::array();
  for (const auto& [thread, lane] : threads) {
    Json list = Json::array();
    for (const Stretch& stretch : lane) {
      list.push(Json::array()
                    .push(stretch.step)
                    .push(microseconds_of(stretch.begin - start))
                    .push(microseconds_of(stretch.end - start)));
    }
    all.push(Json::object().set("thread", thread).set("busy", microseconds_of(busy[thread])).set("events", list));
  }
  return Json::object().set("span", microseconds_of(end - start)).set("threads", all).set("left_out", left_out);
}

}  // namespace tenon::report
