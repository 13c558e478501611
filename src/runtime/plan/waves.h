// Which steps run side by side.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/plan/dependencies.h"
#include "tenon/machine.h"

namespace tenon::runtime {

/// The least work of a chunk, against the cost of claiming it.
inline constexpr double kChunkWork = 8192;

/// The steps in the order in which they run, in groups of which no step waits for another. Each group ends before the
/// next begins.
struct Waves {
  std::vector<int> steps = {};
  std::vector<uint32_t> first = {};  // of each group in `steps`; one more than there are groups

  size_t size() const { return first.empty() ? 0 : first.size() - 1; }
  std::span<const int> wave(size_t i) const { return std::span(steps).subspan(first[i], first[i + 1] - first[i]); }
};

/// Steps join others where that pays: where each alone leaves threads without work, yet is worth one. All others are
/// groups of their own, and those that have less than kLeastSharedWork together. `work` of a step that must run alone
/// is 0. Empty when no step joins another: the order is then that of the program.
Waves form_waves(const StepGraph& graph, std::span<const double> work, int threads);

}  // namespace tenon::runtime
