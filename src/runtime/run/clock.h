// Time for counters.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace tenon::runtime {

/// Adds the time that it lives to a sum of nanoseconds.
class TimeInto {
 public:
  explicit TimeInto(std::atomic<int64_t>& sum) : sum_(sum) {}
  ~TimeInto() { sum_.fetch_add(nanoseconds_now() - start_, std::memory_order_relaxed); }
  TimeInto(const TimeInto&) = delete;
  TimeInto& operator=(const TimeInto&) = delete;

 private:
  std::atomic<int64_t>& sum_;
  const int64_t start_ = nanoseconds_now();
};

}  // namespace tenon::runtime
