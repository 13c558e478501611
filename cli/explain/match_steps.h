// Which steps of one compiled model do the work of which steps of another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "cli/explain/read_steps.h"

namespace tenon::cli {

enum class StepChange : uint8_t { same, changed, joined, split, regrouped, only_a, only_b };
std::string_view name(StepChange change);

/// Steps of A and those of B that do the same work; ascending, counted from 0.
struct StepGroup {
  StepChange change = StepChange::same;
  std::vector<size_t> a = {}, b = {};
};

/// Groups in which each step of either is once, in the order of A, where steps of B alone follow the step of B before
/// them. Operators are matched in order, and by the nodes that they came from where both know these.
std::vector<StepGroup> match_steps(const std::vector<ReadStep>& a, const std::vector<ReadStep>& b);

}  // namespace tenon::cli
