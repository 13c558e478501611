// What one rank runs: graphs with collectives between them.
#pragma once

#include <vector>

#include "mesh/split/rank_plan.h"
#include "mesh/split/shard.h"

namespace tenon::mesh {

struct RankProgram {
  RankPlan plan;
  std::vector<Graph> graphs;  // of the plan's segments; none where a segment gives nothing
};

RankProgram cut_into_segments(const ShardedGraph& sharded);

/// What a graph takes and gives.
Signature signature_of(const Graph& graph);

}  // namespace tenon::mesh
