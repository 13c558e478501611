#include "mesh_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <new>
#include <thread>

#include "base/fail.h"
#include "compile_options.h"
#include "mesh/exchange/processes.h"
#include "mesh/exchange/threads.h"
#include "tenon/models.h"
#include "tenon/program_file.h"

namespace tenon::cli {
namespace {

/// Where all ranks fail in the same way, the first one speaks for all.
constexpr std::chrono::milliseconds kPatience{500};

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
  if (world.rank() != 0) std::this_thread::sleep_for(kPatience);
  fmt::print(stderr, "tenon: rank {} of the mesh: {}\n", world.rank(), problem);
  std::fflush(stderr);
  world.abort(1);
  return 1;
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
  for (const Option& option : {kShard, kRanks, kNetwork}) {
    if (arguments.has(option.name)) fail("`{}` is for `--mesh`", option.name);
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
    fail("`{}` is a program that was built for one process; `--mesh` takes the model that it was built from", word);
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

int on_ranks(const Arguments& arguments, const std::function<int(mesh::Communicator&)>& body) {
  const mesh::MeshShape mesh = mesh::MeshShape::parse(*arguments.find(kMesh.name));
  if (has_thread_ranks(arguments)) {
    std::atomic<int> status = 0;
    mesh::run_as_threads(mesh.rank_count(), [&](mesh::Communicator& world) {
      const int own = body(world);
      if (world.rank() == 0) status = own;
    });
    return status;
  }
  const std::unique_ptr<mesh::Processes> world = mesh::open_processes();
  if (world->size() != mesh.rank_count()) {
    if (world->rank() == 0) {
      fmt::print(
          stderr, "tenon: the mesh {} has {} ranks, and there {} {} of them: `mpirun -n {} tenon ...` starts as many\n",
          mesh.to_string(), mesh.rank_count(), world->size() == 1 ? "is" : "are", world->size(), mesh.rank_count());
    }
    return 1;
  }
  return run_process(*world, body);
}

int threads_of_rank(const Arguments& arguments, const mesh::MeshShape& mesh) {
  const int own = static_cast<int>(std::thread::hardware_concurrency()) / mesh.rank_count();
  return static_cast<int>(arguments.find_number("--threads", 1).value_or(std::max(own, 1)));
}

mesh::MeshProgram compile_for_rank(const Arguments& arguments, const GraphModel& model, const Bindings& bindings,
                                   mesh::Communicator& world) {
  const mesh::MeshShape mesh = mesh::MeshShape::parse(*arguments.find(kMesh.name));
  CompileOptions options;
  take_compile_options(arguments, options);
  const mesh::Sharding sharding = sharding_of(arguments, mesh, model.graph, bindings);
  return {mesh::shard(model.graph, mesh, sharding, world.rank(), {.costs = costs_of(arguments), .typical = bindings}),
          world, mesh::compiling(options, threads_of_rank(arguments, mesh))};
}

}  // namespace tenon::cli
