// Graphs over ranks that are threads, held against the interpreter.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mesh/run/mesh_program.h"
#include "support/random_graph.h"

namespace tenon::mesh {

/// Costs of a network that is free, so that a node runs in parts wherever it can.
ShardOptions free_network();

struct MeshRun {
  std::vector<std::vector<Array>> outputs;  // of each rank
  Traffic traffic;                          // of rank 0
  ShardedGraph graph;                       // of rank 0
};

/// The graph on whole inputs, of which each rank takes its parts.
MeshRun run_on_threads(const Graph& graph, const std::string& mesh, const std::string& sharding,
                       const std::vector<Array>& inputs, const Bindings& bindings,
                       const ShardOptions& options = free_network(), const Engine& engine = interpreting());

/// What differs between the outputs on any rank and the interpreter's; nothing when all is well. Floats may differ by
/// what the order of sums does.
std::optional<std::string> mesh_difference(const Graph& graph, const std::string& mesh, const std::string& sharding,
                                           const std::vector<Array>& inputs, const Bindings& bindings,
                                           const std::vector<Tolerance>& tolerances = {},
                                           const ShardOptions& options = free_network());

}  // namespace tenon::mesh
