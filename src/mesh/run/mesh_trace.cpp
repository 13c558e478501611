#include "mesh/run/mesh_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/json.h"

namespace tenon::mesh {
namespace {

constexpr int kClockReadings = 21;

/// `mine` of every rank, one behind the other, in the order of ranks.
std::vector<std::byte> gather_all(Communicator& world, const std::byte* mine, size_t bytes) {
  const auto ranks = static_cast<size_t>(world.size());
  std::vector<size_t> sizes(ranks);
  world
      .all_gather(reinterpret_cast<const std::byte*>(&bytes), std::vector<size_t>(ranks, sizeof(size_t)),
                  reinterpret_cast<std::byte*>(sizes.data()))
      ->wait();
  size_t total = 0;
  for (const size_t size : sizes) {
    total += size;
  }
  std::vector<std::byte> all(total);
  world.all_gather(mine, sizes, all.data())->wait();
  return all;
}

/// By how much this rank's clock is ahead of rank 0's: the median of readings that all ranks take when a collective
/// lets them go.
int64_t clock_ahead_ns(Communicator& world, const Trace& clock) {
  std::vector<int64_t> readings;
  for (int i = 0; i < kClockReadings; ++i) {
    std::byte none{};
    world.all_reduce(&none, &none, 1, 1, [](const std::byte*, std::byte*, size_t) {})->wait();
    readings.push_back(clock.now_ns());
  }
  const size_t bytes = readings.size() * sizeof(int64_t);
  const std::vector<std::byte> all = gather_all(world, reinterpret_cast<const std::byte*>(readings.data()), bytes);
  std::vector<int64_t> first(readings.size());
  std::copy_n(all.data(), bytes, reinterpret_cast<std::byte*>(first.data()));
  for (size_t i = 0; i < readings.size(); ++i) {
    readings[i] -= first[i];
  }
  std::ranges::nth_element(readings, readings.begin() + kClockReadings / 2);
  return readings[kClockReadings / 2];
}

double microseconds(int64_t ns) { return static_cast<double>(ns) / 1e3; }

std::string slice(int rank, int lane, std::string_view label, std::string_view category, int64_t begin_ns,
                  int64_t end_ns) {
  return fmt::format(
      ",\n"
      R"({{"ph": "X", "pid": {}, "tid": {}, "ts": {:.3f}, "dur": {:.3f}, "name": {}, "cat": {}}})",
      rank + 1, lane, microseconds(begin_ns), microseconds(end_ns - begin_ns), json_quoted(label),
      json_quoted(category));
}

}  // namespace

void MeshTrace::add_exchange(std::string label, int64_t begin_ns, int64_t end_ns) {
  exchanges_.push_back({std::move(label), begin_ns, end_ns});
}

void MeshTrace::add_wait(std::string label, int64_t begin_ns, int64_t end_ns) {
  waits_.push_back({std::move(label), begin_ns, end_ns});
}

std::string MeshTrace::own_events(int rank, int64_t ahead_ns) const {
  std::string text = fmt::format(
      R"(,{}{{"ph": "M", "pid": {}, "name": "process_name", "args": {{"name": "rank {}"}}}})", '\n', rank + 1, rank);
  const std::vector<TraceEvent> events = steps_.events();
  const int caller = events.empty() ? 0 : events.front().thread;
  for (const TraceEvent& event : events) {
    text +=
        slice(rank, event.thread + 1, event.label, event.program, event.begin_ns - ahead_ns, event.end_ns - ahead_ns);
  }
  for (const Stretch& wait : waits_) {
    text += slice(rank, caller + 1, "wait: " + wait.label, "wait", wait.begin_ns - ahead_ns, wait.end_ns - ahead_ns);
  }
  // Several are under way at once, which slices of one lane cannot be.
  for (size_t i = 0; i < exchanges_.size(); ++i) {
    const Stretch& each = exchanges_[i];
    for (const auto& [phase, at] : {std::pair{'b', each.begin_ns}, std::pair{'e', each.end_ns}}) {
      text += fmt::format(
          ",\n"
          R"({{"ph": "{}", "pid": {}, "id": {}, "ts": {:.3f}, "name": {}, "cat": "exchange"}})",
          phase, rank + 1, i, microseconds(at - ahead_ns), json_quoted(each.label));
    }
  }
  return text;
}

std::string MeshTrace::to_json(Communicator& world) const {
  const std::string own = own_events(world.rank(), clock_ahead_ns(world, steps_));
  const std::vector<std::byte> all = gather_all(world, reinterpret_cast<const std::byte*>(own.data()), own.size());
  if (world.rank() != 0) return {};
  std::string text = "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n";
  text += R"({"ph": "M", "pid": 0, "name": "process_name", "args": {"name": "tenon"}})";
  text.append(reinterpret_cast<const char*>(all.data()), all.size());
  return text + "\n]}\n";
}

}  // namespace tenon::mesh
