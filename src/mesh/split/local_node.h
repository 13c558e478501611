// A node of the whole graph as one rank computes it.
#pragma once

#include <vector>

#include "ir/node.h"
#include "mesh/parts/placement.h"
#include "ops/sliding.h"

namespace tenon::mesh {

/// What the rank at `coordinates` makes of its operands, which lie as `wanted` says, in a way of ways(): its part of
/// each result, which lie as `results` says.
std::vector<Value> make_local(const Node& node, std::vector<Value> operands, const std::vector<Layout>& wanted,
                              const std::vector<Layout>& results, const MeshShape& mesh,
                              const std::vector<int>& coordinates);

/// The window of a Window or Conv along an axis of its first operand.
Sliding sliding(const Node& node, int axis);

}  // namespace tenon::mesh
