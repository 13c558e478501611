// In which ways a node can run on parts of its operands.
#pragma once

#include <vector>

#include "ir/node.h"
#include "mesh/parts/placement.h"

namespace tenon::mesh {

/// Along one axis of the mesh: with operands that lie so, the same node on every rank gives results that lie so.
struct Way {
  std::vector<Placement> operands, results;
};

/// Every way but the one with whole operands, which is always there. `now` says how each operand lies; a way takes
/// over the cut of an operand that is split along the axis that it needs. `ranks` is the size of the mesh's axis.
std::vector<Way> ways(const Node& node, const std::vector<Placement>& now, int ranks);

/// Whether each element of the result is made of one element of each operand, or is one.
bool is_elementwise(const Node& node);

}  // namespace tenon::mesh
