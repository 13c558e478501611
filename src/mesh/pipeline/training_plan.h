// What each stage of a model that is trained computes, how that lies on its ranks, and what goes between stages.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "mesh/pipeline/pipeline_program.h"
#include "mesh/pipeline/stage_graphs.h"
#include "tenon/optimizers.h"

namespace tenon::mesh {

/// A step of training and the stages of its loss.
struct TrainingStages {
  Graph step;                        // training_step() of the loss, with a rate as its last input
  Graph loss;                        // data, parameters -> loss, and statistics that it updates
  std::vector<Graph> stages;         // of the loss: they take its inputs, or outputs of earlier ones, by name
  size_t data_inputs = 0;            // the first of the loss, and of the step
  std::vector<std::string> trained;  // inputs of the loss, in the order of their states in the step
  UpdateRule rule;
  std::string piece_axis;  // that batches are cut along; the loss is a mean along it. Empty: one piece
};

/// A tensor that one stage gives and another takes, and its gradient on the way back.
struct Crossing {
  int from = 0, to = 0;
  size_t output = 0;  // of stage `from`
  size_t input = 0;   // of stage `to`
  Shape shape;
  Layout layout = {};
  bool flows_back = false;
  Layout gradient_layout = {};
};

/// A parameter that a stage trains.
struct StageWeight {
  size_t input = 0;                // of the step; of the loss, too
  size_t stage_input = 0;          // of the stage
  std::vector<size_t> state = {};  // inputs of the step
  size_t first_output = 0;         // of the step: the new weight, then its states
  std::vector<int> stages = {};    // that read it, in order; the first one gives it away when it is asked for
  Layout sum_layout = {};          // of its gradient while it is added up over pieces

  bool is_shared() const { return stages.size() > 1; }
};

/// Everything but `crossings` and `step_layouts` is of one stage.
struct TrainingPlan {
  std::vector<Crossing> crossings;
  std::vector<Layout> step_layouts;        // of the inputs of the step
  std::map<std::string, int> first_stage;  // that reads an input of the loss

  Graph stage;
  StageGraphs graphs;
  std::vector<std::optional<size_t>> step_input;  // of each input of the stage; none for what crosses
  std::vector<StageWeight> weights;
  ShardedGraph forward;
  std::optional<ShardedGraph> backward;
  /// Weights, their states and gradients, then the number of steps and the rate -> new weights and states.
  std::optional<ShardedGraph> update;
  /// Gradients of shared weights as they are added up, each with its weight -> gradients that lie as the weights.
  std::optional<ShardedGraph> shared;
};

/// That of `stage` on rank `rank` of the mesh of a stage. The same on all ranks but for sizes.
TrainingPlan plan_training(const TrainingStages& stages, const MeshShape& inner, int stage, int rank,
                           const PipelineOptions& options);

}  // namespace tenon::mesh
