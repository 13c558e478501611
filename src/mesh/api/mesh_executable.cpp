#include <algorithm>
#include <optional>
#include <thread>

#include "base/fail.h"
#include "mesh/api/mesh_state.h"
#include "mesh/disk/mesh_file.h"
#include "mesh/run/mesh_program.h"
#include "tenon/mesh_program.h"

namespace tenon {
namespace {

/// The others would wait for a rank that cannot go on.
template <class Body>
auto telling_others(mesh::Communicator& world, Body&& body) {
  try {
    return body();
  } catch (const std::exception& error) {
    world.give_up(error.what());
    throw;
  }
}

int threads_of_rank(const mesh::Communicator& world, int asked) {
  if (asked > 0) return asked;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / std::max(1, world.ranks_here()));
}

mesh::Sharding sharding_of(const Graph& graph, const mesh::MeshShape& shape, const MeshOptions& options) {
  if (options.shard) return mesh::Sharding::parse(*options.shard);
  return mesh::choose_sharding(graph, shape, {.typical = options.typical});
}

}  // namespace

struct MeshExecutable::State {
  State(const Graph& graph, const Mesh& on, const MeshOptions& options)
      : State(graph, on, options, sharding_of(graph, on.state_->shape, options)) {}

  State(const Graph& graph, const Mesh& on, const MeshOptions& options, const mesh::Sharding& sharding)
      : mesh(on), program(make(graph, on, sharding, options)), shard(sharding.to_string()) {
    std::vector<const Array*> known(graph.inputs().size());
    for (const auto& [name, value] : options.values) {
      const auto found = std::ranges::find(graph.inputs(), name, &Value::name);
      if (found == graph.inputs().end()) {
        fail("MeshOptions::values has `{}`, and graph `{}` has no such input", name, graph.name());
      }
      known[static_cast<size_t>(found - graph.inputs().begin())] = &value;
    }
    program.require_same_inputs(known);
    sizes = program.bind(known);
    parts.resize(known.size());
    for (size_t i = 0; i < known.size(); ++i) {
      if (known[i] != nullptr) parts[i] = program.part_of_input(i, *known[i], sizes);
    }
    list_ports();
  }

  State(const Mesh& on, mesh::LoadedRank loaded)
      : mesh(on),
        program(std::move(loaded.plan), std::move(loaded.runs), on.state_->world()),
        parts(std::move(loaded.values)),
        sizes(std::move(loaded.sizes)),
        shard(std::move(loaded.shard)) {
    list_ports();
  }

  static mesh::MeshProgram make(const Graph& graph, const Mesh& mesh, const mesh::Sharding& sharding,
                                const MeshOptions& options) {
    mesh::Communicator& world = mesh.state_->world();
    const mesh::ShardOptions choices{.typical = options.typical, .whole_outputs = options.whole_outputs};
    return {mesh::shard(graph, mesh.state_->shape, sharding, world.rank(), choices), world,
            mesh::compiling(options.compile, threads_of_rank(world, options.threads))};
  }

  void list_ports() {
    const Signature& whole = program.plan().whole;
    for (size_t i = 0; i < whole.inputs.size(); ++i) {
      if (parts[i]) continue;
      given.push_back(i);
      inputs.push_back({.name = whole.inputs[i].name, .shape = whole.inputs[i].shape});
    }
    for (const SignatureOutput& output : whole.outputs) {
      outputs.push_back({.name = output.name, .shape = output.shape});
    }
  }

  mesh::Communicator& world() const { return mesh.state_->world(); }

  void require_count(size_t count) const {
    if (count == given.size()) return;
    fail("graph `{}` takes {} inputs{}, {} were given", program.plan().whole.name, given.size(),
         given.size() == parts.size() ? "" : " beside those whose values it has", count);
  }

  /// All inputs as this rank has them, once `part` has said what it has of each that a run is given.
  template <class Part>
  std::vector<Array> all_parts(const Part& part) const {
    std::vector<Array> all(parts.size());
    for (size_t i = 0; i < parts.size(); ++i) {
      if (parts[i]) all[i] = *parts[i];
    }
    for (size_t i = 0; i < given.size(); ++i) {
      all[given[i]] = part(i);
    }
    return all;
  }

  Mesh mesh;
  mesh::MeshProgram program;
  std::vector<size_t> given;  // which inputs of the graph runs are given
  std::vector<Port> inputs, outputs;
  std::vector<std::optional<Array>> parts;  // of inputs whose values are known
  Bindings sizes;                           // that those bind
  std::string shard;
};

std::vector<Array> MeshExecutable::run(const std::vector<Array>& inputs, const Bindings& known) const {
  return telling_others(state_->world(), [&] {
    state_->require_count(inputs.size());
    std::vector<const Array*> whole(state_->parts.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      whole[state_->given[i]] = &inputs[i];
    }
    Bindings bindings = state_->sizes;
    for (const auto& [name, size] : known) {
      bindings.set(name, size);
    }
    bindings = state_->program.bind(whole, bindings);
    return state_->program.run(state_->all_parts([&](size_t i) { return part(i, inputs[i], bindings); }), bindings);
  });
}

std::vector<Array> MeshExecutable::run_parts(const std::vector<Array>& parts, const Bindings& bindings) const {
  return telling_others(state_->world(), [&] {
    state_->require_count(parts.size());
    Bindings all = state_->sizes;
    for (const auto& [name, size] : bindings) {
      all.set(name, size);
    }
    return state_->program.run(state_->all_parts([&](size_t i) { return parts[i]; }), all);
  });
}

Array MeshExecutable::part(size_t input, const Array& whole, const Bindings& bindings) const {
  if (input >= state_->given.size()) {
    fail("graph `{}` has no input {}: runs take {} of them", state_->program.plan().whole.name, input,
         state_->given.size());
  }
  const size_t place = state_->given[input];
  std::vector<const Array*> given(state_->parts.size());
  given[place] = &whole;
  return state_->program.part_of_input(place, whole, state_->program.bind(given, bindings));
}

const Mesh& MeshExecutable::mesh() const { return state_->mesh; }
const std::vector<Port>& MeshExecutable::inputs() const { return state_->inputs; }
const std::vector<Port>& MeshExecutable::outputs() const { return state_->outputs; }
const std::string& MeshExecutable::shard() const { return state_->shard; }
double MeshExecutable::sent_bytes() const { return state_->program.traffic().bytes; }

std::vector<CollectiveReport> MeshExecutable::collectives() const {
  const mesh::RankPlan& plan = state_->program.plan();
  std::vector<CollectiveReport> reports;
  for (const mesh::Collective& each : plan.collectives) {
    reports.push_back({.kind = std::string(name(each.kind)),
                       .over = plan.mesh.axes[each.mesh_axis].name,
                       .of = each.of,
                       .reason = each.reason,
                       .bytes = each.bytes});
  }
  return reports;
}

MeshExecutable compile(const Graph& graph, const Mesh& mesh, const MeshOptions& options) {
  return telling_others(mesh.state_->world(),
                        [&] { return MeshExecutable(std::make_shared<MeshExecutable::State>(graph, mesh, options)); });
}

void build_mesh_program(const Graph& graph, std::string_view axes, const std::string& path, const MeshOptions& options,
                        const BuildOptions& build) {
  const mesh::MeshShape shape = mesh::MeshShape::parse(axes);
  mesh::write_mesh_program(graph, path,
                           {.mesh = shape,
                            .sharding = sharding_of(graph, shape, options),
                            .shard = {.typical = options.typical, .whole_outputs = options.whole_outputs},
                            .values = {options.values.begin(), options.values.end()},
                            .build = build});
}

MeshExecutable load_mesh_program(const std::string& path, const Mesh& mesh, const MeshFileOptions& options) {
  mesh::Communicator& world = mesh.state_->world();
  return telling_others(world, [&] {
    const mesh::MeshFile file(path);
    if (file.mesh() != mesh.state_->shape) {
      fail("`{}` was built for the mesh {}, and this one is {}", path, file.mesh().to_string(), mesh.axes());
    }
    return MeshExecutable(std::make_shared<MeshExecutable::State>(
        mesh, file.load(world.rank(), threads_of_rank(world, options.threads), options.verify)));
  });
}

}  // namespace tenon
