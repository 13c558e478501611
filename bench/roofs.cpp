// The roofs that `tenon explain` measures against programs of their own: multiply-adds in registers, and the four loops
// of STREAM over plain arrays as the compiler vectorises them, in each cache and in memory.
#include "roofs/roofs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "support/peak.h"
#include "support/report.h"
#include "support/stream.h"
#include "support/timing.h"

namespace {

constexpr double kTarget = 0.05;
constexpr int kRounds = 15;

constexpr int64_t kStretchBytes = int64_t{8} << 20;  // in some stretches, nobody else uses the machine

/// Bytes a second of the fastest loop on one thread over arrays that take so many bytes together: in the fastest
/// stretch of a pass, or of passes over small arrays.
double stream_rate(int64_t bytes) {
  bench::Stream stream(bytes);
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (const bench::StreamLoop loop : bench::kStreamLoops) {
      const int64_t count = std::min(stream.count(), kStretchBytes / bench::Stream::bytes(loop, 64) * 64);
      const int64_t of_a_stretch = bench::Stream::bytes(loop, count);
      const int times = static_cast<int>(std::max<int64_t>(1, kStretchBytes / of_a_stretch));
      for (int64_t first = 0; first + count <= stream.count(); first += count) {
        const double seconds = bench::seconds_of(1, times, [&] { stream.run(loop, first, count); });
        best = std::max(best, static_cast<double>(of_a_stretch) / seconds);
      }
    }
  }
  return best;
}

/// By how much two rates differ.
double difference(double a, double b) { return std::abs(std::log(a / b)); }

}  // namespace

int main(int argc, char** argv) {
  bench::Report report(argc, argv);
  const tenon::CpuMachine& machine = tenon::this_machine().cpu();
  const tenon::roofs::Roofs roofs = tenon::roofs::measure_roofs(machine);
  const auto add = [&](const std::string& name, double roof, double other) {
    report.add("difference of " + name, difference(roof, other), "", kTarget, bench::Better::lower,
               fmt::format("{:.4g} G/s and {:.4g} G/s", roof / 1e9, other / 1e9));
  };
  double peak = 0;
  for (int round = 0; round < kRounds; ++round) {
    peak = std::max(peak, bench::peak_flops());
  }
  add("f32 arithmetic", roofs.operations(tenon::roofs::Unit::f32, 1), peak);
  add("first cache", roofs.bandwidth(0, 1), stream_rate(machine.first_cache / 2));
  add("second cache", roofs.bandwidth(1, 1), stream_rate(machine.second_cache / 2));
  if (machine.last_cache > 0) {
    add("last cache", roofs.bandwidth(2, 1), stream_rate(std::min(6 * machine.second_cache, machine.last_cache / 2)));
  }
  add("memory", roofs.bandwidth(roofs.levels.size() - 1, 1),
      stream_rate(std::max(2 * machine.last_cache, int64_t{256} << 20)));
  return report.finish();
}
