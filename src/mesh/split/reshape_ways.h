// Reshapes of split tensors: which axis of the result is split where one of the operand is.
#pragma once

#include <vector>

#include "mesh/split/ways.h"

namespace tenon::mesh {

/// Adds to `found`. Axes that merge or that one splits into stay split along the first of them, in groups:
///   [rows/4, cols] to [rows*cols]: groups of cols elements    [heads*64 in groups of 64] to [heads/4, 64]
void reshape_ways(const Shape& from, const Shape& to, const Placement& now, int ranks, std::vector<Way>& found);

}  // namespace tenon::mesh
