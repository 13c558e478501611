#include "cli/mesh/train_pipeline.h"

#include <memory>
#include <utility>
#include <vector>

#include "base/fail.h"
#include "cli/mesh/mesh_ranks.h"
#include "cli/mesh/pipeline_ranks.h"
#include "cli/mesh/train_mesh.h"
#include "mesh/pipeline/training_pipeline.h"

namespace tenon::cli {
namespace {

/// The name of the axis that examples lie along, which batches are cut along; none for one piece.
std::string axis_of_examples(const train::StepGraphs& graphs, const std::vector<int>& examples, int64_t pieces) {
  if (pieces == 1) return "";
  for (size_t i = 0; i < examples.size(); ++i) {
    if (examples[i] < 0) continue;
    const auto name = graphs.loss.inputs()[i].extent(examples[i]).as_name();
    if (name) return mesh::piece_axis(graphs.scored, *name);
  }
  fail("`{}` takes batches of one size, which cannot be cut into {} pieces", graphs.loss.name(), pieces);
}

}  // namespace

train::MakeStep step_in_stages(const Arguments& arguments, const train::Dataset& data, int64_t batch,
                               mesh::Communicator& world) {
  return [&arguments, data, batch, &world](const train::StepGraphs& graphs) -> train::StepRun {
    const std::vector<int> examples = axes_of_examples(data);
    const PipelineWords words = pipeline_words(arguments);
    const mesh::MeshShape mesh = mesh::MeshShape::parse(*arguments.find(kMesh.name));
    const auto axis = static_cast<size_t>(mesh.find(words.axis));
    const mesh::MeshShape inner = mesh::without_axis(mesh, axis);
    const Bindings typical = sizes_of_batch(data, graphs.step, batch);
    const auto shards = arguments.find(kShard.name);
    const mesh::PipelineOptions options{
        .along = words.axis,
        .pieces = words.pieces,
        .sharding = shards ? mesh::Sharding::parse(*shards) : usual_sharding(graphs.step, inner, examples),
        .costs = costs_of(arguments),
        .typical = typical};
    mesh::TrainingStages stages{.step = graphs.step,
                                .loss = graphs.loss,
                                .stages = stages_of(graphs.loss, typical, mesh.axes[axis].size, words.pieces),
                                .data_inputs = examples.size(),
                                .trained = graphs.trained,
                                .rule = graphs.rule,
                                .piece_axis = axis_of_examples(graphs, examples, words.pieces)};
    const auto pipeline = std::make_shared<mesh::TrainingPipeline>(
        std::move(stages), mesh, options, world, mesh::compiling({}, threads_of_rank(arguments, mesh)));
    return {.run = [pipeline](std::vector<Array>&& inputs,
                              const Bindings& known) { return pipeline->run(std::move(inputs), known); },
            .keep = [pipeline](size_t input, const Array& state) { return pipeline->keep(input, state); },
            .whole = [pipeline](size_t input, const Array& state) { return pipeline->whole(input, state); }};
  };
}

}  // namespace tenon::cli
