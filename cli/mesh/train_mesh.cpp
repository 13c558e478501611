#include "cli/mesh/train_mesh.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/mesh/mesh_ranks.h"
#include "tenon/bindings.h"

namespace tenon::cli {
namespace {

/// Whether the input is a state that the optimiser keeps of a weight: NAME.mean of an input NAME.
bool is_state_of_weight(std::string_view name, const std::set<std::string, std::less<>>& names) {
  const size_t dot = name.rfind('.');
  return dot != std::string_view::npos && names.contains(name.substr(0, dot));
}

/// Examples, and states of the optimiser, along the first axis of the mesh. `examples` are the axes of the columns of
/// data, which are the first inputs.
mesh::Sharding usual_sharding(const Graph& step, const mesh::MeshShape& mesh, const std::vector<int>& examples) {
  const mesh::MeshAxis& along = mesh.axes[0];
  mesh::Sharding sharding;
  for (size_t i = 0; i < examples.size(); ++i) {
    if (examples[i] < 0) continue;
    sharding.along.emplace(fmt::format("{}.{}", step.inputs()[i].name(), examples[i]), along.name);
  }
  std::set<std::string, std::less<>> names;
  for (const Value& input : step.inputs()) {
    names.emplace(input.name());
  }
  for (const Value& input : step.inputs()) {
    if (!is_state_of_weight(input.name(), names)) continue;
    for (int axis = 0; axis < input.rank(); ++axis) {
      const auto size = input.extent(axis).constant();
      if (!size || *size < along.size) continue;
      sharding.along.emplace(fmt::format("{}.{}", input.name(), axis), along.name);
      break;
    }
  }
  return sharding;
}

}  // namespace

train::MakeStep step_on_mesh(const Arguments& arguments, const train::Dataset& data, int64_t batch,
                             mesh::Communicator& world) {
  std::vector<int> examples;
  for (const train::Column& column : data.columns) {
    examples.push_back(column.axis);
  }
  return [&arguments, examples, batch, sizes = data.sizes, &world](const Graph& step) -> train::StepRun {
    const mesh::MeshShape mesh = mesh::MeshShape::parse(*arguments.find(kMesh.name));
    const auto words = arguments.find(kShard.name);
    const mesh::Sharding sharding = words ? mesh::Sharding::parse(*words) : usual_sharding(step, mesh, examples);
    Bindings typical = sizes;
    for (size_t i = 0; i < examples.size(); ++i) {
      if (examples[i] < 0) continue;
      const auto name = step.inputs()[i].extent(examples[i]).as_name();
      if (name && !typical.find(*name)) typical.set(*name, batch);
    }
    const auto program = std::make_shared<mesh::MeshProgram>(
        mesh::shard(step, mesh, sharding, world.rank(),
                    {.costs = costs_of(arguments), .typical = typical, .state_stays = true}),
        world, mesh::compiling({}, threads_of_rank(arguments, mesh)));
    return {
        .run =
            [program, columns = examples.size()](std::vector<Array>&& inputs, const Bindings& known) {
              // A batch is small beside the work of a step, and ranks may have been given other files.
              program->require_same_contents({inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(columns)});
              std::vector<const Array*> given;  // the first inputs
              for (size_t i = 0; i < columns; ++i) {
                given.push_back(&inputs[i]);
              }
              const Bindings bindings = program->bind(given, known);
              for (size_t i = 0; i < columns; ++i) {
                inputs[i] = program->part_of_input(i, inputs[i], bindings);
              }
              return program->run(inputs, bindings);
            },
        .keep = [program](size_t input, const Array& state) { return program->part_of_input(input, state, {}); },
        .whole = [program](size_t input, const Array& state) { return program->whole_input(input, state, {}); }};
  };
}

}  // namespace tenon::cli
