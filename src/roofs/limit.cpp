#include "roofs/limit.h"

#include <algorithm>
#include <numeric>

#include "roofs/reuse.h"

namespace tenon::roofs {

double StepWork::all_operations() const { return std::accumulate(operations.begin(), operations.end(), 0.0); }

double StepWork::all_bytes() const {
  double bytes = 0;
  for (const Touch& touch : touches) {
    bytes += touch.bytes;
  }
  return bytes;
}

Limit limit_of(const StepWork& work, const Roofs& roofs, int threads) {
  Limit limit;
  double arithmetic = 0;
  double longest = 0;
  for (size_t i = 0; i < kUnits; ++i) {
    const auto unit = static_cast<Unit>(i);
    const double seconds = work.operations[i] / roofs.operations(unit, threads);
    arithmetic += seconds;
    if (seconds > longest) {
      longest = seconds;
      limit.by = std::string(name(unit)) + " arithmetic";
    }
  }
  limit.seconds = arithmetic;
  for (size_t level = 0; level < roofs.levels.size(); ++level) {
    double bytes = 0;
    for (const Touch& touch : work.touches) {
      bytes += level == 0 ? touch.bytes : beyond(touch.bytes, touch.distance, roofs.capacity(level - 1, threads));
    }
    limit.bytes.push_back(bytes);
    if (const double seconds = bytes / roofs.bandwidth(level, threads); seconds > limit.seconds) {
      limit.seconds = seconds;
      limit.by = roofs.levels[level].name;
    }
  }
  return limit;
}

}  // namespace tenon::roofs
