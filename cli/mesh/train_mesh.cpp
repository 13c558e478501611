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
#include "cli/mesh/train_pipeline.h"
#include "tenon/bindings.h"

namespace tenon::cli {
namespace {

/// Whether the input is a state that the optimiser keeps of a weight: NAME.mean of an input NAME.
bool is_state_of_weight(std::string_view name, const std::set<std::string, std::less<>>& names) {
  const size_t dot = name.rfind('.');
  return dot != std::string_view::npos && names.contains(name.substr(0, dot));
}

}  // namespace

mesh::Sharding usual_sharding(const Graph& step, const mesh::MeshShape& mesh, const std::vector<int>& examples) {
  mesh::Sharding sharding;
  if (mesh.axes.empty()) return sharding;
  const mesh::MeshAxis& along = mesh.axes[0];
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

std::vector<int> axes_of_examples(const train::Dataset& data) {
  std::vector<int> axes;
  for (const train::Column& column : data.columns) {
    axes.push_back(column.axis);
  }
  return axes;
}

Bindings sizes_of_batch(const train::Dataset& data, const Graph& step, int64_t batch) {
  Bindings sizes = data.sizes;
  for (size_t i = 0; i < data.columns.size(); ++i) {
    const train::Column& column = data.columns[i];
    for (int axis = 0; axis < column.values.rank(); ++axis) {
      const auto name = step.inputs()[i].extent(axis).as_name();
      if (!name || sizes.find(*name)) continue;
      sizes.set(*name, axis == column.axis ? batch : column.values.dims()[static_cast<size_t>(axis)]);
    }
  }
  return sizes;
}

train::MakeStep step_on_mesh(const Arguments& arguments, const train::Dataset& data, int64_t batch,
                             mesh::Communicator& world) {
  if (arguments.has(kPipeline.name)) return step_in_stages(arguments, data, batch, world);
  return [&arguments, data, batch, &world](const train::StepGraphs& graphs) -> train::StepRun {
    const Graph& step = graphs.step;
    const std::vector<int> examples = axes_of_examples(data);
    const mesh::MeshShape mesh = mesh::MeshShape::parse(*arguments.find(kMesh.name));
    const auto words = arguments.find(kShard.name);
    const mesh::Sharding sharding = words ? mesh::Sharding::parse(*words) : usual_sharding(step, mesh, examples);
    const Bindings typical = sizes_of_batch(data, step, batch);
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
