#include "cli/mesh/mesh_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <new>
#include <thread>

#include "base/fail.h"
#include "cli/models/program_file.h"
#include "cli/words/compile_options.h"
#include "mesh/exchange/processes.h"
#include "mesh/exchange/threads.h"
#include "tenon/models.h"
#include "tenon/program_file.h"

namespace tenon::cli {
namespace {

/// Where all ranks fail in the same way, the first one speaks for all.
constexpr std::chrono::milliseconds kFirstSpeaks{500};

/// Runs the body on a rank that is a process. Others may wait for it, so its error ends all.
int run_process(mesh::Processes& world, const std::function<int(mesh::Communicator&)>& body) {
  std::string problem;
  try {
    return body(world);
  } catch (const std::bad_alloc&) {
    problem = "there is not enough memory for this";
  } catch (const std::exception& error) {
    problem = error.what();
  }
  if (world.rank() != 0) std::this_thread::sleep_for(kFirstSpeaks);
  fmt::print(stderr, "tenon: rank {} of the mesh: {}\n", world.rank(), problem);
  std::fflush(stderr);
  world.abort(1);
  return 1;
}

/// The time limit that `--patience` says, if it does.
std::optional<double> patience_of(const Arguments& arguments) {
  const auto seconds = arguments.find_real(kMeshPatience.name);
  if (seconds && !(*seconds > 0)) {
    fail("`{} {}`: the time limit is a number of seconds above 0", kMeshPatience.name, *seconds);
  }
  return seconds;
}

bool has_thread_ranks(const Arguments& arguments) {
  const std::string word = arguments.find(kRanks.name).value_or("mpi");
  if (word != "mpi" && word != "threads") fail("`{}` is mpi or threads, not `{}`", kRanks.name, word);
  return word == "threads";
}

}  // namespace

mesh::MeshCosts costs_of(const Arguments& arguments) {
  const auto file = arguments.find(kNetwork.name);
  return file ? mesh::read_costs(*file) : mesh::MeshCosts();
}

void require_mesh_for_its_options(const Arguments& arguments) {
  for (const std::string_view option : {kShard.name, kRanks.name, kNetwork.name, kPipeline.name, kMeshPatience.name}) {
    if (arguments.has(option)) fail("`{}` is for `--mesh`", option);
  }
}

void refuse_beside_mesh(const Arguments& arguments, const std::vector<std::string_view>& options) {
  for (const std::string_view option : options) {
    if (arguments.has(option)) fail("`{}` does not go with `--mesh`", option);
  }
}

GraphModel load_mesh_model(const std::string& word, const LoadGraphOptions& options) {
  if (!is_model_file(word)) {
    const ModelEntry& entry = built_in_model(word);
    const Model built = entry.build();
    GraphModel model{.graph = built.graph, .typical = Bindings::parse(entry.typical)};
    for (const Parameter& parameter : built.parameters) {
      model.values.emplace(parameter.name, initial_value(parameter));
    }
    return model;
  }
  if (is_program_file(word)) {
    fail("`{}` is a program that was built; `--mesh` takes the model that it was built from", word);
  }
  std::vector<train::Weight> weights;
  LoadGraphOptions with_weights = options;
  with_weights.trained = &weights;
  with_weights.unread = true;
  GraphModel model = load_model(word, with_weights);
  for (train::Weight& weight : weights) {
    model.values.emplace(weight.name, std::move(weight.value));
  }
  return model;
}

mesh::Sharding sharding_of(const Arguments& arguments, const mesh::MeshShape& mesh, const Graph& graph,
                           const Bindings& bindings) {
  if (const auto words = arguments.find(kShard.name)) return mesh::Sharding::parse(*words);
  return mesh::choose_sharding(graph, mesh, {.costs = costs_of(arguments), .typical = bindings});
}

namespace {

/// Of `--mesh`, or of the program that is there.
mesh::MeshShape mesh_of(const Arguments& arguments) {
  const auto word = arguments.find(kMesh.name);
  return word && !is_program_file(arguments.rest()[0]) ? mesh::MeshShape::parse(*word)
                                                       : open_mesh_program(arguments).mesh();
}

}  // namespace

int on_ranks(const Arguments& arguments, const std::function<int(mesh::Communicator&)>& body) {
  const std::optional<double> patience = patience_of(arguments);
  if (has_thread_ranks(arguments)) {
    std::atomic<int> status = 0;
    mesh::run_as_threads(mesh_of(arguments).rank_count(), [&](mesh::Communicator& world) {
      const int own = body(world);
      if (world.rank() == 0) status = own;
    });
    return status;
  }
  const std::unique_ptr<mesh::Processes> world = mesh::open_processes();
  return run_process(*world, [&](mesh::Communicator& ranks) {
    if (patience) world->set_patience(*patience);
    const mesh::MeshShape mesh = mesh_of(arguments);
    if (ranks.size() == mesh.rank_count()) return body(ranks);
    if (ranks.rank() == 0) {
      fmt::print(
          stderr, "tenon: the mesh {} has {} ranks, and there {} {} of them: `mpirun -n {} tenon ...` starts as many\n",
          mesh.to_string(), mesh.rank_count(), ranks.size() == 1 ? "is" : "are", ranks.size(), mesh.rank_count());
    }
    return 1;
  });
}

int on_processes_or_threads(const Arguments& arguments, int ranks,
                            const std::function<int(mesh::Communicator&)>& body) {
  const std::optional<double> patience = patience_of(arguments);
  const std::unique_ptr<mesh::Processes> world = mesh::has_processes() ? mesh::open_processes() : nullptr;
  if (world != nullptr && world->size() > 1) {
    return run_process(*world, [&](mesh::Communicator& started) {
      if (patience) world->set_patience(*patience);
      if (started.size() != ranks) {
        fail("`mpirun` started {} processes, and `--ranks` says {}", started.size(), ranks);
      }
      return body(started);
    });
  }
  std::atomic<int> status = 0;
  mesh::run_as_threads(ranks, [&](mesh::Communicator& threads) {
    const int own = body(threads);
    if (threads.rank() == 0) status = own;
  });
  return status;
}

int threads_of_rank(const Arguments& arguments, const mesh::MeshShape& mesh) {
  const int own = static_cast<int>(std::thread::hardware_concurrency()) / mesh.rank_count();
  return static_cast<int>(arguments.find_number("--threads", 1).value_or(std::max(own, 1)));
}

RankRun compile_for_rank(const Arguments& arguments, const GraphModel& model, const Bindings& bindings,
                         mesh::Communicator& world) {
  refuse_beside_mesh(arguments, {kWeights.name});
  const mesh::MeshShape mesh = mesh::MeshShape::parse(*arguments.find(kMesh.name));
  CompileOptions options;
  take_compile_options(arguments, options);
  const mesh::Sharding sharding = sharding_of(arguments, mesh, model.graph, bindings);
  const mesh::ShardOptions choices{.costs = costs_of(arguments), .typical = bindings};
  return {.program = {mesh::shard(model.graph, mesh, sharding, world.rank(), choices), world,
                      mesh::compiling(options, threads_of_rank(arguments, mesh))},
          .values = std::vector<std::optional<Array>>(model.graph.inputs().size())};
}

RankRun load_for_rank(const Arguments& arguments, const mesh::MeshFile& file, mesh::Communicator& world) {
  mesh::LoadedRank loaded = file.load(world.rank(), threads_of_rank(arguments, file.mesh()));
  return {.program = {std::move(loaded.plan), std::move(loaded.runs), world}, .values = std::move(loaded.values)};
}

std::vector<Array> RankRun::parts(const PreparedInputs& given) {
  std::vector<const Array*> whole(values.size());
  const std::vector<SignatureInput>& inputs = program.plan().whole.inputs;
  for (const NamedArray& each : given.inputs) {
    const auto found = std::ranges::find(inputs, each.name, &SignatureInput::name);
    TENON_CHECK(found != inputs.end(), "no input `{}`", each.name);
    whole[static_cast<size_t>(found - inputs.begin())] = &each.value;
  }
  program.require_same_inputs(whole);
  std::vector<Array> parts;
  for (size_t i = 0; i < whole.size(); ++i) {
    parts.push_back(values[i] ? *values[i] : program.part_of_input(i, *whole[i], given.bindings));
  }
  return parts;
}

bool is_mesh_program(const std::string& word) {
  if (!is_program_file(word)) return false;
  const ProgramFileInfo info = inspect_program(word, {.verify = false});
  return std::ranges::find(info.sections, "mesh", &ProgramFileSection::kind) != info.sections.end();
}

mesh::MeshFile open_mesh_program(const Arguments& arguments) {
  const std::string& word = arguments.rest()[0];
  require_no_compile_options(arguments);
  for (const std::string_view option : {kShard.name, kNetwork.name, kPipeline.name}) {
    if (arguments.has(option)) {
      fail("`{}` says how a model is compiled, and `{}` is a program that was built: give it to `tenon build`", option,
           word);
    }
  }
  mesh::MeshFile file(word);
  const auto given = arguments.find(kMesh.name);
  if (given && mesh::MeshShape::parse(*given) != file.mesh()) {
    fail("`{}` was built for the mesh {}, not for {}", word, file.mesh().to_string(), *given);
  }
  return file;
}

}  // namespace tenon::cli
