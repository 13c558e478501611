#include <algorithm>
#include <thread>

#include "base/fail.h"
#include "mesh/api/mesh_state.h"
#include "mesh/run/bind_given.h"
#include "mesh/run/mesh_program.h"

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

}  // namespace

struct MeshExecutable::State {
  State(const Graph& graph, const Mesh& on, const MeshOptions& options)
      : mesh(on), sharding(sharding_of(graph, on, options)), program(make(graph, on, sharding, options)) {
    std::vector<const Array*> known(graph.inputs().size());
    size_t found = 0;
    for (size_t i = 0; i < known.size(); ++i) {
      const Value& input = graph.inputs()[i];
      const auto value = options.values.find(std::string(input.name()));
      if (value == options.values.end()) {
        given.push_back(i);
        inputs.push_back({.name = std::string(input.name()), .shape = input.shape()});
      } else {
        known[i] = &value->second;
        ++found;
      }
    }
    for (const auto& [name, value] : options.values) {
      if (found < options.values.size() &&
          std::ranges::find(graph.inputs(), name, &Value::name) == graph.inputs().end()) {
        fail("MeshOptions::values has `{}`, and graph `{}` has no such input", name, graph.name());
      }
    }
    program.require_same_inputs(known);
    sizes = mesh::bind_given(graph, known);
    parts.resize(known.size());
    for (size_t i = 0; i < known.size(); ++i) {
      if (known[i] != nullptr) parts[i] = program.part_of_input(i, *known[i], sizes);
    }
    for (const Output& output : graph.outputs()) {
      outputs.push_back({.name = output.name, .shape = output.value.shape()});
    }
  }

  static mesh::Sharding sharding_of(const Graph& graph, const Mesh& mesh, const MeshOptions& options) {
    if (options.shard) return mesh::Sharding::parse(*options.shard);
    return mesh::choose_sharding(graph, mesh.state_->shape, {.typical = options.typical});
  }

  static mesh::MeshProgram make(const Graph& graph, const Mesh& mesh, const mesh::Sharding& sharding,
                                const MeshOptions& options) {
    mesh::Communicator& world = mesh.state_->world();
    const mesh::ShardOptions choices{.typical = options.typical, .whole_outputs = options.whole_outputs};
    return {mesh::shard(graph, mesh.state_->shape, sharding, world.rank(), choices), world,
            mesh::compiling(options.compile, threads_of_rank(world, options.threads))};
  }

  mesh::Communicator& world() const { return mesh.state_->world(); }

  void require_count(size_t count) const {
    if (count == given.size()) return;
    fail("graph `{}` takes {} inputs{}, {} were given", program.graph().whole.name(), given.size(),
         given.size() == parts.size() ? "" : " beside those of MeshOptions::values", count);
  }

  /// All inputs as this rank has them, once `part` has said what it has of each that a run is given.
  template <class Part>
  std::vector<Array> all_parts(const Part& part) const {
    std::vector<Array> all = parts;
    for (size_t i = 0; i < given.size(); ++i) {
      all[given[i]] = part(i);
    }
    return all;
  }

  Mesh mesh;
  mesh::Sharding sharding;
  mesh::MeshProgram program;
  std::vector<size_t> given;  // which inputs of the graph runs are given
  std::vector<Port> inputs, outputs;
  std::vector<Array> parts;  // of MeshOptions::values, where they are in the graph's inputs
  Bindings sizes;            // that those bind
  std::string shard = sharding.to_string();
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
    bindings = mesh::bind_given(state_->program.graph().whole, whole, bindings);
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
    fail("graph `{}` has no input {}: runs take {} of them", state_->program.graph().whole.name(), input,
         state_->given.size());
  }
  const size_t place = state_->given[input];
  std::vector<const Array*> given(state_->parts.size());
  given[place] = &whole;
  return state_->program.part_of_input(place, whole, mesh::bind_given(state_->program.graph().whole, given, bindings));
}

const Mesh& MeshExecutable::mesh() const { return state_->mesh; }
const std::vector<Port>& MeshExecutable::inputs() const { return state_->inputs; }
const std::vector<Port>& MeshExecutable::outputs() const { return state_->outputs; }
const std::string& MeshExecutable::shard() const { return state_->shard; }
double MeshExecutable::sent_bytes() const { return state_->program.traffic().bytes; }

std::vector<CollectiveReport> MeshExecutable::collectives() const {
  const mesh::ShardedGraph& graph = state_->program.graph();
  std::vector<CollectiveReport> reports;
  for (const mesh::Collective& each : graph.collectives) {
    reports.push_back({.kind = std::string(name(each.kind)),
                       .over = graph.mesh.axes[each.mesh_axis].name,
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

}  // namespace tenon
