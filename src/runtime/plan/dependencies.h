// What must wait for what, from what steps say that they read and write.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tenon::runtime {

/// What one step reads and writes, by numbers of any kind of place.
struct StepUse {
  std::span<const int> reads;
  std::span<const int> writes;
};

/// For each step, the earlier steps that it must wait for. Not every one of them: those that others wait for already
/// may be left out.
struct StepGraph {
  std::vector<uint32_t> first;  // in `before`; one more than there are steps
  std::vector<int> before;

  size_t size() const { return first.empty() ? 0 : first.size() - 1; }
  std::span<const int> predecessors(size_t step) const {
    return std::span(before).subspan(first[step], first[step + 1] - first[step]);
  }
};

/// A step waits for the last that wrote what it reads or writes, and for those that read since what it writes.
StepGraph derive_dependencies(std::span<const StepUse> steps, size_t places);

}  // namespace tenon::runtime
