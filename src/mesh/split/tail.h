// What waits for nothing but outputs.
#pragma once

#include <unordered_set>

#include "tenon/graph.h"

namespace tenon::mesh {

/// What elementwise functions and views make for outputs alone, such as the step of an optimiser.
std::unordered_set<const Node*> tail_of(const Graph& graph);

}  // namespace tenon::mesh
