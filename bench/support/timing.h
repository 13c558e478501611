// Clocks and medians.
#pragma once

#include <algorithm>
#include <ctime>
#include <vector>

namespace bench {

inline double read_clock(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Of one thread, the time that it had a processor, so that others at work on the machine count for little; of
/// several, time as it passes.
inline double seconds_of(int threads, int times, const auto& run) {
  const clockid_t clock = threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
  const double begin = read_clock(clock);
  for (int i = 0; i < times; ++i) {
    run();
  }
  return (read_clock(clock) - begin) / times;
}

inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace bench
