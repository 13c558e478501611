// Loops and branches in parts: their bodies run on each rank's parts, without an exchange inside.
#pragma once

#include <vector>

#include "mesh/split/shard.h"
#include "mesh/split/ways.h"

namespace tenon::mesh {

/// Whether the node is a loop or a branch.
bool has_bodies(const Node& node);

/// The way in which the node runs where its operands lie as they do along one axis of the mesh of `ranks`, if there is
/// one. What a loop carries lies before and behind each trip in the same manner: it is split as what the body makes of
/// it, or it is a term of a sum that grows, as gradients of weights do.
std::vector<Way> body_ways(const Node& node, const std::vector<Placement>& now, int ranks);

/// The bodies as one rank runs them, with operands and results of the node that lie so. Empty where some body would
/// need an exchange.
std::vector<Graph> local_bodies(const Node& node, const std::vector<Layout>& operands,
                                const std::vector<Layout>& results, const MeshShape& mesh,
                                const std::vector<int>& coordinates);

}  // namespace tenon::mesh
