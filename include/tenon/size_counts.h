// Which sizes an executable ran at, how often, and what each cost: for people who serve models.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tenon/bindings.h"
#include "tenon/executable.h"

namespace tenon {

/// One binding of the names of a program, or of one segment of it.
struct SizeCount {
  Bindings bindings;
  int segment = 0;              ///< of Executable::segments()
  int64_t hits = 0;             ///< requests that found it prepared
  int64_t specializations = 0;  ///< times it was prepared: more than one where it was evicted in between
  int64_t evictions = 0;
  int64_t bytes = 0;         ///< that are kept for it now; 0: it is not kept
  double specialize_ms = 0;  ///< to prepare it, all times together

  int64_t uses() const { return hits + specializations; }
  /// Adds all but the binding.
  SizeCount& operator+=(const SizeCount& other);
};

/// All sizes that are kept, and the last few hundred that were evicted. A program without names has none.
struct SizeCounts {
  /// In seconds: the upper ends of ranges of times.
  static constexpr std::array kTimesUpTo = {3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 1.0};
  /// How many specializations took up to each of kTimesUpTo and more than the one before; the last: longer than all.
  using Times = std::array<int64_t, kTimesUpTo.size() + 1>;

  std::vector<SizeCount> sizes;  ///< the most used first
  SizeCount others;              ///< the sum of those that are not in `sizes`,
  int64_t other_sizes = 0;       ///< and how many these are; one that was forgotten and came again counts twice
  Times times = {};

  /// Leave `most` sizes, in order, and add up the rest.
  void keep_most_used(size_t most);
};

/// The `most` sizes that were used most often. Takes time in proportion to the number of sizes that are kept.
SizeCounts size_counts(const Executable& executable, size_t most = 64);

/// counters() of each executable, and how long specializations took, in the text format of Prometheus: what a server
/// answers to a request of `/metrics`. The label `model` is name(); of several with one name the second is `name#2`.
std::string metrics_text(std::span<const Executable> executables);
std::string metrics_text(const Executable& executable);

}  // namespace tenon
