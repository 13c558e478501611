// Which integer inputs are positions of something.
#pragma once

#include <optional>
#include <vector>

#include "tenon/graph.h"

namespace tenon {

/// For each input of the graph, the extent that its numbers must stay below because they arrive, through views and
/// elementwise functions, as positions at a gather or a scatter; nothing for the others.
std::vector<std::optional<Extent>> index_limits(const Graph& graph);

}  // namespace tenon
