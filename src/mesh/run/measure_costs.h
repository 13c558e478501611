// What sending along each axis of a mesh takes here.
#pragma once

#include "mesh/exchange/communicator.h"
#include "mesh/parts/mesh_shape.h"
#include "mesh/split/costs.h"

namespace tenon::mesh {

/// All ranks call it; each gets the slowest rank's figures. Latency is that of a sum of 8 bytes, bytes a second those
/// that a rank sends in a sum of 8 MiB, work that of a product of matrices on as many threads as a rank has. About a
/// second.
MeshCosts measure_costs(const MeshShape& mesh, Communicator& world, int threads);

/// The ranks that differ along one axis of the mesh alone, for this rank. All ranks call it.
std::unique_ptr<Communicator> ranks_along(const MeshShape& mesh, size_t axis, Communicator& world);

}  // namespace tenon::mesh
