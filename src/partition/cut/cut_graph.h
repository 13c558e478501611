// What partitioners by number cut: groups of operators as nodes, tensors between them as nets.
#pragma once

#include "partition/work/sized.h"

namespace tenon::partition {

struct CutGraph {
  /// A tensor that leaves its group; one that some read whole and some in slices is several.
  struct Net {
    int64_t bytes = 0;
    int from = -1;
    std::vector<int> to;  // nodes, each once, none of them `from`
  };
  std::vector<double> weight;         // of each node
  std::vector<std::vector<int>> in;   // nets that a node reads
  std::vector<std::vector<int>> out;  // nets that it gives
  std::vector<Net> nets;

  int size() const { return static_cast<int>(weight.size()); }
};

/// Groups stand in an order that operands precede; weights are arithmetic, at least 1 for each group.
CutGraph cut_graph(const SizedGraph& graph, const std::vector<std::vector<int>>& groups);

/// Bytes that cross parts: a tensor counts once for each part other than its own that reads it.
int64_t cut_bytes(const CutGraph& graph, const std::vector<int>& part_of);

/// Orders of the nodes that edges follow: as they stand, breadth first, depth first, by the bytes that are alive, and
/// `random` others. The same for the same graph.
std::vector<std::vector<int>> topological_orders(const CutGraph& graph, int random);

}  // namespace tenon::partition
