// Time for counters.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace tenon::runtime {

/// Adds the time that it lives to a sum of nanoseconds.
class TimeInto {
 public:
  explicit TimeInto(std::atomic<int64_t>& sum) : sum_(sum) {}
  ~TimeInto() {
    const auto time = std::chrono::steady_clock::now() - start_;
    sum_.fetch_add(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count(), std::memory_order_relaxed);
  }
  TimeInto(const TimeInto&) = delete;
  TimeInto& operator=(const TimeInto&) = delete;

 private:
  std::atomic<int64_t>& sum_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace tenon::runtime
