// Rows of the scalar table on operands that make them something simpler.
#pragma once

#include <optional>
#include <vector>

#include "ir/kinds.h"

namespace tenon::passes {

/// What a map on these operands is more simply, with the same bits for every operand value, NaN, infinities and signed
/// zeros included (f64 squares by pow may differ in the last place); nothing when no rule applies.
std::optional<Value> simplified_map(const Map& map, const std::vector<Value>& operands);

}  // namespace tenon::passes
