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

/// What the first run at some sizes takes.
struct FirstRun {
  double specialize = 0;
  double run = 0;  // the rest, in which memory is touched for the first time
};
/// Afterwards the binding is prepared: its tiles, which the first run may have gone without, are chosen.
inline FirstRun first_run(const Executable& executable, const Bindings& bindings, const std::function<void()>& call) {
  const double before = executable.counters().specialize_ms;
  const double all = microseconds(call);
  const double specialize = (executable.counters().specialize_ms - before) * 1e3;
  executable.specialize(bindings);
  return {.specialize = specialize, .run = std::max(0.0, all - specialize)};
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
