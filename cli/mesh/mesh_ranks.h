// `--mesh`: ranks, the model in parts, and what each of them does.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/models/load_graph.h"
#include "cli/words/arguments.h"
#include "cli/words/inputs.h"
#include "mesh/disk/mesh_file.h"
#include "mesh/run/mesh_program.h"

namespace tenon::cli {

inline constexpr Option kMesh{"--mesh", "NAME=N,...",
                              "in parts, by as many processes as the mesh has: `mpirun -n 4 tenon ... --mesh data=4`"};
inline constexpr Option kShard{
    "--shard", "AXIS=NAME,...",
    "which axes lie along which of the mesh: `batch=data,w.1=model`; else a cost model says"};
inline constexpr Option kRanks{"--ranks", "mpi|threads", "what the ranks of the mesh are (default mpi)"};

inline constexpr Option kMeshPatience{
    "--patience", "SECONDS",
    "end with an error when a rank that is a process waits longer than this for others (default 1800)"};

inline constexpr Option kNetwork{"--network", "FILE.json",
                                 "what sending along axes of the mesh takes, as `tenon partition --measure` writes it"};

inline constexpr Option kPipeline{"--pipeline", "AXIS[=PIECES]",
                                  "the axis of the mesh that stages of the model lie along, and into how many pieces a "
                                  "batch is cut, which stages work on at the same time"};

/// What `--network` says, or what is usual.
mesh::MeshCosts costs_of(const Arguments& arguments);

/// Error: `--shard` or `--ranks` without `--mesh`.
void require_mesh_for_its_options(const Arguments& arguments);
/// Error: one of `options` is there, which goes with one process alone.
void refuse_beside_mesh(const Arguments& arguments, const std::vector<std::string_view>& options);

/// The model with its weights as inputs that begin with some values, so that each can lie in parts.
GraphModel load_mesh_model(const std::string& word, const LoadGraphOptions& options);

/// What `--shard` says, or what is chosen at these sizes.
mesh::Sharding sharding_of(const Arguments& arguments, const mesh::MeshShape& mesh, const Graph& graph,
                           const Bindings& bindings);

/// Runs `body` on each rank and gives the exit status. Only rank 0 may print. An Error of a rank ends all of them. The
/// mesh is that of `--mesh`, or of the program that the arguments name.
int on_ranks(const Arguments& arguments, const std::function<int(mesh::Communicator&)>& body);

/// The same on the processes of `mpirun`, or on threads where it started none. Error: it started another number.
int on_processes_or_threads(const Arguments& arguments, int ranks, const std::function<int(mesh::Communicator&)>& body);

/// What `--threads` says, or the rank's part of this machine's cores.
int threads_of_rank(const Arguments& arguments, const mesh::MeshShape& mesh);

/// One rank's program.
struct RankRun {
  mesh::MeshProgram program;
  std::vector<std::optional<Array>> values;  // of inputs of the whole, this rank's parts that it has already

  /// This rank's parts of all inputs. Error on every rank: ranks have been given other ones.
  std::vector<Array> parts(const PreparedInputs& given);
};

/// That of the model at these sizes, compiled. The costs of choices are estimated for them.
RankRun compile_for_rank(const Arguments& arguments, const GraphModel& model, const Bindings& bindings,
                         mesh::Communicator& world);
/// That of a file.
RankRun load_for_rank(const Arguments& arguments, const mesh::MeshFile& file, mesh::Communicator& world);

/// Whether the word is a file that was built with `--mesh`.
bool is_mesh_program(const std::string& word);
/// The file that the arguments name, which has such a program. Error: options that say otherwise than the file.
mesh::MeshFile open_mesh_program(const Arguments& arguments);

}  // namespace tenon::cli
