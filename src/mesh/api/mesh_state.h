// What handles of a mesh share.
#pragma once

#include <memory>

#include "base/fail.h"
#include "mesh/exchange/processes.h"
#include "mesh/parts/mesh_shape.h"
#include "tenon/mesh.h"

namespace tenon {

struct Mesh::State {
  mesh::MeshShape shape;
  mesh::Communicator* ranks = nullptr;              // null when the threads that were ranks have ended
  std::shared_ptr<mesh::Processes> processes = {};  // the same, where ranks are processes

  mesh::Communicator& world() const {
    if (ranks == nullptr) fail("the ranks of the mesh {} were threads, and these have ended", shape.to_string());
    return *ranks;
  }
};

}  // namespace tenon
