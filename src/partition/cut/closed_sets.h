// Every set of nodes that a cut may have before it, where there are not too many.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "partition/cut/cut_graph.h"

namespace tenon::partition {

/// Nodes with all that they depend on: what stands before a boundary of an acyclic cut.
struct ClosedSet {
  std::vector<uint64_t> bits;             // of each node, whether it is in
  double weight = 0;                      // of the nodes in it
  int64_t leaving = 0;                    // bytes of nets that are read outside of it too
  std::vector<std::pair<int, int>> next;  // a node that can follow, and the set with it

  bool has(int node) const {
    return (bits[static_cast<size_t>(node) / 64] >> (static_cast<size_t>(node) % 64) & 1) != 0;
  }
};

/// All closed sets, smaller ones first: the first is empty, the last is everything. Nothing where there are more than
/// `most`. Models have few, some for each operator, since what runs beside each other soon meets again.
std::optional<std::vector<ClosedSet>> closed_sets(const CutGraph& graph, size_t most);

}  // namespace tenon::partition
