// A graph on several processes: a mesh of ranks with named axes, and a program of which each rank runs its part.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/array.h"
#include "tenon/bindings.h"
#include "tenon/compile.h"
#include "tenon/graph.h"
#include "tenon/run_report.h"

namespace tenon {

class MeshExecutable;
struct MeshFileOptions;
struct MeshOptions;

/// The ranks that share the work, as one of them sees them. They have named axes, such as `data=2,model=4`, and lie in
/// row order: the last axis changes fastest. A handle, cheap to copy; copies are the same rank.
///
/// Every rank makes the same meshes and programs and runs them in the same order, each from one thread. Where MPI has
/// not begun, the first mesh of processes begins it, and it ends with the program.
class Mesh {
 public:
  /// All processes that `mpirun` started. Error: the axes make another number of ranks; this Tenon was built without
  /// MPI; text that is no mesh.
  explicit Mesh(std::string_view axes);
  /// Those of an MPI communicator, given as `MPI_Comm_c2f(comm)`, or by mpi4py as `comm.py2f()`. Tenon has its own
  /// messages on a copy of it.
  Mesh(std::string_view axes, int communicator);

  /// Runs `body` once for each rank, as threads of this process. When one of them throws, the others' calls throw too,
  /// and the first error is rethrown. Needs no MPI: for tests and trying out.
  static void run_as_threads(std::string_view axes, const std::function<void(const Mesh&)>& body);

  int rank() const;
  int size() const;  ///< of ranks
  std::string axes() const;
  /// Where this rank is along the axis, counted from 0. Error: no such axis.
  int position(std::string_view axis) const;

  /// Processes that wait for others longer than this end with an Error; at first half an hour. Ranks may take so much
  /// longer than others to compile, to read or to write.
  void set_patience(double seconds) const;
  /// Ends all ranks now, for a rank that cannot go on: others may be waiting for it.
  [[noreturn]] void abort(int status = 1) const;

 private:
  friend class MeshExecutable;
  friend MeshExecutable compile(const Graph& graph, const Mesh& mesh, const MeshOptions& options);
  friend MeshExecutable load_mesh_program(const std::string& path, const Mesh& mesh, const MeshFileOptions& options);
  struct State;
  explicit Mesh(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

struct MeshOptions {
  /// Which axes of the inputs lie along which axis of the mesh: the name of an axis, or an input and one of its axes by
  /// name or number, `*` for any characters: "batch=data,*.query.weight.1=model". Empty: every rank computes all. Not
  /// given: the axis names with which a cost model expects the least time.
  std::optional<std::string> shard = {};
  /// Inputs whose values are known now and stay: weights. Each rank keeps its part, and runs do not take them.
  std::map<std::string, Array> values = {};
  Bindings typical = {};      ///< sizes at which costs are estimated
  bool whole_outputs = true;  ///< else each rank has the part of each output that it computed
  int threads = 0;            ///< of this rank; 0: its share of the machine's cores
  CompileOptions compile = {};
};

/// What ranks send to each other so that a graph can run in parts.
struct CollectiveReport {
  std::string kind;    ///< all_reduce, all_gather, reduce_scatter, all_to_all, halo_exchange
  std::string over;    ///< the axis of the mesh
  std::string of;      ///< the tensor
  std::string reason;  ///< who needs it so
  Extent bytes;        ///< of the tensor over all ranks along the axis
};

/// A graph compiled for one rank of a mesh. A handle; copies share the program. All ranks call run() together. After an
/// Error of one rank the others' calls fail too, with its text, and the mesh is not to be used any more.
class MeshExecutable {
 public:
  /// `inputs` are whole, and the same on each rank, which takes its parts; results are whole unless
  /// MeshOptions::whole_outputs says otherwise. Inputs of MeshOptions::values are left out.
  std::vector<Array> run(const std::vector<Array>& inputs, const Bindings& known = {}) const;
  /// The same with this rank's part of each input. `bindings` are the sizes of the whole.
  std::vector<Array> run_parts(const std::vector<Array>& parts, const Bindings& bindings) const;
  /// This rank's part of input `input` of inputs().
  Array part(size_t input, const Array& whole, const Bindings& bindings = {}) const;

  const Mesh& mesh() const;
  const std::vector<Port>& inputs() const;  ///< of the whole graph, without MeshOptions::values
  const std::vector<Port>& outputs() const;
  const std::string& shard() const;  ///< what was said, or chosen
  std::vector<CollectiveReport> collectives() const;
  /// Bytes that this rank has sent so far, by the formula of each collective.
  double sent_bytes() const;

 private:
  friend MeshExecutable compile(const Graph& graph, const Mesh& mesh, const MeshOptions& options);
  friend MeshExecutable load_mesh_program(const std::string& path, const Mesh& mesh, const MeshFileOptions& options);
  struct State;
  explicit MeshExecutable(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

/// The graph in parts, one for each rank; all ranks call it together. Error, on every rank: a rank compiles another
/// graph, or with other options; an axis of the sharding that is none; sizes that data decide.
MeshExecutable compile(const Graph& graph, const Mesh& mesh, const MeshOptions& options = {});

}  // namespace tenon
