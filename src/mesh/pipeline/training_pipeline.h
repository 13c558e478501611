// Training a model in stages: each on ranks of its own, which work on several pieces of a batch, one forward, one back.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mesh/exchange/communicator.h"
#include "mesh/pipeline/pieces_of_batch.h"
#include "mesh/pipeline/schedule.h"
#include "mesh/pipeline/training_plan.h"
#include "mesh/run/mesh_program.h"

namespace tenon::mesh {

/// One rank's end. All ranks make it and run it together, each in one thread.
///
/// A stage takes pieces forward and back in the order of one_forward_one_backward(), adds up the gradients of its
/// weights over pieces, then over the ranks of its other axes, and updates its weights. A weight that several stages
/// read is updated by each of them, with the sum of their gradients.
class TrainingPipeline {
 public:
  /// Error, on every rank: other numbers of ranks, other programs.
  TrainingPipeline(TrainingStages stages, const MeshShape& mesh, const PipelineOptions& options, Communicator& world,
                   const Engine& engine);

  /// Inputs and outputs are those of the step: data whole, states as keep() gives them. What is given for a state of
  /// another stage is not looked at, and means nothing in the results. Error on every rank: other data on another rank.
  std::vector<Array> run(std::vector<Array>&& inputs, const Bindings& known = {});

  /// This rank's part of a state, which is that input of the step; anything where another stage has it.
  Array keep(size_t input, const Array& whole) const;
  /// The whole on every rank. All call it together.
  Array whole(size_t input, const Array& part);

  int stage() const { return stage_; }
  /// The most pieces that were on their way through the stage at once.
  int64_t most_pieces() const { return most_pieces_; }
  /// Bytes that this rank has sent: to other stages, and within its own.
  double sent_bytes() const;

 private:
  struct Piece;

  void require_same_program(const MeshShape& mesh);
  void receive(const PipelineAction& action, Piece& piece);
  void run_forward(Piece& piece, const std::vector<Array>& inputs);
  void run_backward(Piece& piece);
  void send(Array array, int to, int tag);
  void look();
  void drop_what_is_done();
  void finish_sends();
  void sum_over_stages(const std::vector<Array>& inputs);
  void update(const std::vector<Array>& inputs, std::vector<Array>& results);
  double loss_of_all() const;
  /// The first stage that has a state.
  int owner_of(size_t input) const;
  std::vector<int64_t> local_dims(const Shape& shape, const Layout& layout, const Bindings& bindings) const;

  TrainingStages stages_;
  MeshShape inner_;  // the mesh of a stage
  std::vector<int> inner_place_;
  int stage_ = 0, count_ = 1;
  int64_t pieces_ = 1;
  Communicator& world_;
  std::unique_ptr<Communicator> own_;    // the ranks of the stage
  std::unique_ptr<Communicator> along_;  // those in this one's place, of all stages
  TrainingPlan plan_;
  std::unique_ptr<MeshProgram> forward_, backward_, update_, shared_;
  std::vector<Array> sums_;             // of gradients, one for each weight of the plan
  std::map<std::string, Array> given_;  // outputs of the loss that this stage gives
  double loss_ = 0;
  std::vector<std::shared_ptr<Request>> coming_;
  std::vector<std::pair<std::shared_ptr<Request>, Array>> going_;
  int64_t most_pieces_ = 0;
  double sent_bytes_ = 0;
};

}  // namespace tenon::mesh
