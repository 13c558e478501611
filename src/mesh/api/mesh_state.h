// What handles of a mesh share.
#pragma once

#include <memory>

#include "mesh/exchange/processes.h"
#include "mesh/parts/mesh_shape.h"
#include "tenon/mesh.h"

namespace tenon {

struct Mesh::State {
  mesh::MeshShape shape;
  mesh::Communicator* world = nullptr;
  std::shared_ptr<mesh::Processes> processes = {};  // that is the world, where ranks are processes
};

}  // namespace tenon
