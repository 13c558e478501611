#include "support/on_mesh.h"

#include <fmt/format.h>

#include <mutex>

#include "mesh/exchange/threads.h"
#include "support/arrays.h"
#include "tenon/interpreter.h"

namespace tenon::mesh {

ShardOptions free_network() {
  return {.costs = {.link = {.latency = 0, .bytes_per_second = 1e15}, .work_per_second = 1e6}};
}

MeshRun run_on_threads(const Graph& graph, const std::string& mesh, const std::string& sharding,
                       const std::vector<Array>& inputs, const Bindings& bindings, const ShardOptions& options,
                       const Engine& engine) {
  const MeshShape parsed = MeshShape::parse(mesh);
  MeshRun result;
  result.outputs.resize(static_cast<size_t>(parsed.rank_count()));
  run_as_threads(parsed.rank_count(), [&](Communicator& world) {
    ShardedGraph sharded = shard(graph, parsed, Sharding::parse(sharding), world.rank(), options);
    MeshProgram program(sharded, world, engine);
    result.outputs[static_cast<size_t>(world.rank())] = program.run_whole(inputs, bindings);
    if (world.rank() == 0) {
      result.traffic = program.traffic();
      result.graph = std::move(sharded);
    }
  });
  return result;
}

std::optional<std::string> mesh_difference(const Graph& graph, const std::string& mesh, const std::string& sharding,
                                           const std::vector<Array>& inputs, const Bindings& bindings,
                                           const std::vector<Tolerance>& tolerances, const ShardOptions& options) {
  const auto about = [&](const std::string& what) {
    return fmt::format("{} on {} with {} at {}: {}", graph.name(), mesh, sharding, bindings.to_string(), what);
  };
  try {
    const std::vector<Array> expected = interpret(graph, inputs, {.bindings = bindings});
    const MeshRun run = run_on_threads(graph, mesh, sharding, inputs, bindings, options);
    for (size_t rank = 0; rank < run.outputs.size(); ++rank) {
      for (size_t i = 0; i < expected.size(); ++i) {
        const Tolerance allowed = tolerances.empty() ? Tolerance{.absolute = 1e-5, .relative = 1e-5} : tolerances[i];
        const auto result = close(run.outputs[rank][i], expected[i], allowed.relative, allowed.absolute);
        if (!result) return about(fmt::format("rank {}, output {}: {}", rank, i, result.message()));
      }
    }
  } catch (const Error& error) {
    return about(error.what());
  }
  return std::nullopt;
}

}  // namespace tenon::mesh
