// A graph that binds names while it runs becomes a list of graphs that do not.
#pragma once

#include <string>
#include <vector>

#include "runtime/run/segments.h"
#include "tenon/graph.h"

namespace tenon::compiler {

/// A part of a graph that runs without knowing sizes that data decide in it or behind it.
struct GraphSegment {
  Graph graph;
  std::vector<runtime::SegmentSource> inputs;  // one for each input of the graph
  std::vector<runtime::BoundAxis> binds;
};

struct SegmentedGraph {
  std::vector<GraphSegment> segments;
  std::vector<runtime::SegmentSource> outputs;  // of the whole
};

/// Cut behind what binds names: a node is in the first segment in which the names that it needs are bound, or in a
/// later one when nothing before needs it and nothing that it reads is computed before. Positions get room for all
/// there could be, and their number; views and counters are made again where they are read.
///   before: y = exp(take(x, positions(m, axis=k)))
///   after:  1: p, n = positions(m, axis=-1)            binds k to n, and the first k of p are
///           2: y = exp(take(x, p: i64[k]))
SegmentedGraph cut(const Graph& graph);

}  // namespace tenon::compiler
