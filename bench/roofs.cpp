// The roofs that `tenon explain` measures against programs of their own: multiply-adds in registers, and the four loops
// of STREAM over plain arrays as the compiler vectorises them, in each cache and in memory.
#include "roofs/roofs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "support/peak.h"
#include "support/report.h"
#include "support/stream.h"
#include "support/timing.h"

namespace {

constexpr double kTarget = 0.05;
constexpr int kRounds = 15;
constexpr int kTurns = 8;

constexpr int64_t kStretchBytes = int64_t{8} << 20;  // in some stretches, nobody else uses the machine

/// Bytes a second of the fastest loop on one thread over arrays that take so many bytes together: in the fastest
/// stretch of a pass, or of passes over small arrays.
double stream_rate(int64_t bytes) {
  bench::Stream stream(bytes);
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (const bench::StreamLoop loop : bench::kStreamLoops) {
      const int64_t count = std::min(
          stream.count(), kStretchBytes / bench::Stream::bytes(loop, bench::Stream::kStep) * bench::Stream::kStep);
      const int64_t of_a_stretch = bench::Stream::bytes(loop, count);
      const int times = static_cast<int>(std::max<int64_t>(1, kStretchBytes / of_a_stretch));
      for (int64_t first = 0; first + count <= stream.count(); first += count) {
        const double seconds = bench::seconds_of(1, 1, [&] { stream.run(loop, first, count, times); });
        best = std::max(best, static_cast<double>(of_a_stretch * times) / seconds);
      }
    }
  }
  return best;
}

double peak_rate() {
  double peak = 0;
  for (int round = 0; round < kRounds; ++round) {
    peak = std::max(peak, bench::peak_flops());
  }
  return peak;
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report(argc, argv);
  const tenon::CpuMachine& machine = tenon::this_machine().cpu();
  tenon::roofs::Roofs roofs = tenon::roofs::measure_roofs(machine);
  struct Other {
    std::string name;
    double rate = 0;   // of the other program
    size_t level = 0;  // of memory; none is arithmetic
    int64_t bytes = 0;
  };
  std::vector<Other> others = {{.name = "f32 arithmetic"},
                               {.name = "first cache", .level = 0, .bytes = machine.first_cache / 2},
                               {.name = "second cache", .level = 1, .bytes = machine.second_cache / 2}};
  if (machine.last_cache > 0) {
    others.push_back({"last cache", 0, 2, std::min(6 * machine.second_cache, machine.last_cache / 2)});
  }
  others.push_back({"memory", 0, roofs.levels.size() - 1, std::max(2 * machine.last_cache, int64_t{256} << 20)});
  // By turns: both sides have their share of the moments in which nobody else uses the machine.
  for (int turn = 0; turn < kTurns; ++turn) {
    for (Other& each : others) {
      each.rate = std::max(each.rate, each.bytes == 0 ? peak_rate() : stream_rate(each.bytes));
    }
    roofs.raise_to(tenon::roofs::measure_roofs(machine));
  }
  for (const Other& each : others) {
    const double roof = each.bytes == 0 ? roofs.operations(tenon::roofs::Unit::f32, 1) : roofs.bandwidth(each.level, 1);
    report.add("difference of " + each.name, std::abs(std::log(roof / each.rate)), "", kTarget, bench::Better::lower,
               fmt::format("{:.4g} G/s and {:.4g} G/s", roof / 1e9, each.rate / 1e9));
  }
  return report.finish();
}
