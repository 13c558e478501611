#include "cli/mesh/build_mesh.h"

#include "cli/mesh/mesh_ranks.h"
#include "mesh/disk/mesh_file.h"

namespace tenon::cli {

void build_for_mesh(const Arguments& arguments, const Graph& graph, const GraphModel& model, const std::string& path,
                    const BuildOptions& options) {
  const mesh::MeshShape mesh = mesh::MeshShape::parse(*arguments.find(kMesh.name));
  mesh::write_mesh_program(graph, path,
                           {.mesh = mesh,
                            .sharding = sharding_of(arguments, mesh, graph, options.usual),
                            .shard = {.costs = costs_of(arguments), .typical = options.usual},
                            .values = model.values,
                            .build = options});
}

}  // namespace tenon::cli
