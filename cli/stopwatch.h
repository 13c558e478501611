// How long calls take, in microseconds.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "tenon/executable.h"

namespace tenon::cli {

inline double microseconds(const std::function<void()>& call) {
  const auto begin = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
}

/// What it takes to prepare a binding.
struct Prepared {
  double specialize = 0;
  double memory = 0;  // to get what a run needs, and to touch it for the first time
};
inline Prepared prepare(const Executable& executable, const Bindings& bindings) {
  const double before = executable.counters().specialize_ms;
  const double all = microseconds([&] { executable.specialize(bindings); });
  const double specialize = (executable.counters().specialize_ms - before) * 1e3;
  return {.specialize = specialize, .memory = std::max(0.0, all - specialize)};
}

/// Times of equal calls.
struct Samples {
  std::vector<double> times;  // sorted

  double least() const { return times.front(); }
  double median() const { return times[times.size() / 2]; }
};

/// Call `least` times, and on until `budget` microseconds are spent, a thousand times at most.
inline Samples sample(const std::function<void()>& call, size_t least, double budget) {
  constexpr size_t most = 1000;
  Samples samples;
  for (double total = 0; samples.times.size() < least || (total < budget && samples.times.size() < most);
       total += samples.times.back()) {
    samples.times.push_back(microseconds(call));
  }
  std::ranges::sort(samples.times);
  return samples;
}

}  // namespace tenon::cli
