#include <set>

#include "mesh/split/shard.h"

namespace tenon::mesh {

Sharding choose_sharding(const Graph& graph, const MeshShape& mesh, const ShardOptions& options) {
  std::set<std::string> names;
  for (const Value& input : graph.inputs()) {
    for (const Axis& axis : input.shape().axes()) {
      if (!axis.name().empty()) names.insert(axis.name());
    }
  }
  Sharding best;
  double least = shard(graph, mesh, best, 0, options).seconds;
  for (const MeshAxis& axis : mesh.axes) {
    const Sharding before = best;
    for (const std::string& name : names) {
      Sharding with = before;
      if (!with.along.emplace(name, axis.name).second) continue;
      try {
        const double seconds = shard(graph, mesh, with, 0, options).seconds;
        if (seconds < least) {
          least = seconds;
          best = std::move(with);
        }
      } catch (const Error&) {
        continue;  // such as a name that one input has twice
      }
    }
  }
  return best;
}

}  // namespace tenon::mesh
