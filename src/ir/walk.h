// Orders and rewrites of nodes, without recursion: graphs may be 100,000 nodes deep.
#pragma once

#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "ir/node.h"

namespace tenon {

/// Every node that `roots` need, operands before users; the same order for the same roots. Bodies are not entered.
std::vector<const Node*> topological_order(std::span<const Value> roots);

/// The graphs called by a node: a composite's body. Empty for most.
std::vector<Graph> called_graphs(const Node& node);

/// Every graph reachable through bodies, callees before callers, `root` last; equal graphs once.
std::vector<Graph> reachable_graphs(const Graph& root);

}  // namespace tenon
