// What one rank runs: graphs with collectives between them.
#pragma once

#include <vector>

#include "mesh/split/shard.h"

namespace tenon::mesh {

/// Values are numbers here: first the inputs of the rank, then whatever segments and collectives give.
struct Segment {
  Graph graph;
  std::vector<size_t> takes, gives;
  std::vector<size_t> collectives;  // of ShardedGraph, after the graph has run
};

/// Segments run in order. A segment has every operation whose operands went through as many collectives as it has
/// segments before it, so that as many collectives as possible stand together. Outputs are numbers of values.
struct RankProgram {
  std::vector<Segment> segments;
  std::vector<size_t> outputs;
  std::vector<size_t> sources, results;  // of each collective
  size_t value_count = 0;
};

RankProgram cut_into_segments(const ShardedGraph& sharded);

}  // namespace tenon::mesh
