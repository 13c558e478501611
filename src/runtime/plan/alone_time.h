// What one thread was seen to take.
#pragma once

#include <atomic>
#include <cstdint>

namespace tenon::runtime {

/// How long a launch takes one thread, as the runs without help found: what its work cannot know, such as where its
/// operands lie. Many runs may read and write it at once; what one overwrites is one measurement.
class AloneTime {
 public:
  void add(double nanoseconds) const {
    const std::atomic_ref runs(runs_);
    const std::atomic_ref least(least_);
    const int32_t before = runs.load(std::memory_order_relaxed);
    if (before == 0 || nanoseconds < least.load(std::memory_order_relaxed)) {
      least.store(nanoseconds, std::memory_order_relaxed);
    }
    if (before < kRuns) {
      runs.store(before + 1, std::memory_order_relaxed);
    }
  }

  /// The least of some runs, or `expected` as long as there were too few: the first finds nothing in caches.
  double nanoseconds(double expected) const {
    return std::atomic_ref(runs_).load(std::memory_order_relaxed) < kRuns
               ? expected
               : std::atomic_ref(least_).load(std::memory_order_relaxed);
  }

 private:
  static constexpr int32_t kRuns = 3;

  mutable double least_ = 0;
  mutable int32_t runs_ = 0;
};

}  // namespace tenon::runtime
