// What is in memory while each step of a program runs.
#pragma once

#include <algorithm>
#include <vector>

#include "runtime/plan/specialization.h"

namespace tenon::runtime {

/// Bytes of intermediates, where each step ends before the next begins.
class LiveBytes {
 public:
  LiveBytes(const Plan& plan, const Specialization& s) : live_(plan.steps.size()), begun_(plan.steps.size()) {
    std::vector<int64_t> ended(plan.steps.size() + 1);
    for (const Slot& slot : plan.slots) {
      if (slot.memory == Memory::intermediate && slot.first >= 0) {
        begun_[static_cast<size_t>(slot.first)] += s.bytes(slot);
        ended[static_cast<size_t>(slot.last) + 1] += s.bytes(slot);
      }
    }
    int64_t now = 0;
    for (size_t step = 0; step < live_.size(); ++step) {
      now += begun_[step] - ended[step];
      live_[step] = now;
      most_ = std::max(most_, now);
    }
  }

  int64_t at(int step) const { return live_[static_cast<size_t>(step)]; }
  /// At any step.
  int64_t most() const { return most_; }

  /// While a settled region runs tile by tile.
  int64_t during(const TiledRegion& region) const {
    const auto first = static_cast<size_t>(region.first_step);
    int64_t bytes = region.window_bytes * region.workers + live_[first];
    for (size_t step = first + 1; step < first + static_cast<size_t>(region.steps); ++step) {
      bytes += begun_[step];
    }
    for (const RegionBuffer& buffer : region.buffers) {
      bytes -= buffer.inside ? buffer.elements * buffer.element_bytes : 0;
    }
    return bytes;
  }

  /// Whether as much is in memory at the steps from one on as at those from another one on.
  bool is_like(int one, int other) const {
    const auto steps = std::min<ptrdiff_t>(kMostRegionSteps, std::ssize(live_) - std::max(one, other));
    return std::equal(live_.begin() + one, live_.begin() + one + steps, live_.begin() + other);
  }

 private:
  std::vector<int64_t> live_;
  std::vector<int64_t> begun_;  // of steps: bytes that live from it on
  int64_t most_ = 0;
};

}  // namespace tenon::runtime
