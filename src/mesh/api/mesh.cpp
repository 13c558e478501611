#include "tenon/mesh.h"

#include <cstdlib>

#include "base/fail.h"
#include "mesh/api/mesh_state.h"
#include "mesh/exchange/threads.h"

namespace tenon {
namespace {

/// MPI begins once in the life of a process.
std::shared_ptr<mesh::Processes> all_processes() {
  static const std::shared_ptr<mesh::Processes> processes = mesh::open_processes();
  return processes;
}

void require_as_many(const mesh::MeshShape& shape, const mesh::Processes& processes) {
  const int ranks = processes.size();
  if (ranks == shape.rank_count()) return;
  fail("the mesh {} has {} ranks, and there {} {} of them: `mpirun -n {} ...` starts as many", shape.to_string(),
       shape.rank_count(), ranks == 1 ? "is" : "are", ranks, shape.rank_count());
}

}  // namespace

Mesh::Mesh(std::string_view axes) : state_(std::make_shared<State>(mesh::MeshShape::parse(axes))) {
  state_->processes = all_processes();
  state_->ranks = state_->processes.get();
  require_as_many(state_->shape, *state_->processes);
}

Mesh::Mesh(std::string_view axes, int communicator) : state_(std::make_shared<State>(mesh::MeshShape::parse(axes))) {
  state_->processes = mesh::open_processes(communicator);
  state_->ranks = state_->processes.get();
  require_as_many(state_->shape, *state_->processes);
}

void Mesh::run_as_threads(std::string_view axes, const std::function<void(const Mesh&)>& body) {
  const mesh::MeshShape shape = mesh::MeshShape::parse(axes);
  mesh::run_as_threads(shape.rank_count(), [&](mesh::Communicator& world) {
    const Mesh own(std::make_shared<State>(State{.shape = shape, .ranks = &world}));
    struct End {
      State& state;
      ~End() { state.ranks = nullptr; }
    } const end{*own.state_};
    body(own);
  });
}

int Mesh::rank() const { return state_->world().rank(); }
int Mesh::size() const { return state_->world().size(); }
std::string Mesh::axes() const { return state_->shape.to_string(); }

int Mesh::position(std::string_view axis) const {
  return state_->shape.coordinates(rank())[static_cast<size_t>(state_->shape.find(axis))];
}

void Mesh::set_patience(double seconds) const {
  if (state_->processes != nullptr) state_->processes->set_patience(seconds);
}

void Mesh::abort(int status) const {
  if (state_->processes != nullptr) state_->processes->abort(status);
  std::_Exit(status);
}

}  // namespace tenon
