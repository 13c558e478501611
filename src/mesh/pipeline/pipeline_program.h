// A model in stages: each on ranks of its own, which work on several pieces of a batch at the same time.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mesh/exchange/communicator.h"
#include "mesh/run/mesh_program.h"
#include "mesh/split/shard.h"

namespace tenon::mesh {

struct PipelineOptions {
  std::string along;       // the axis of the mesh that stages lie along, in order
  int64_t pieces = 1;      // that inputs are cut into, which stages work on one after the other
  Sharding sharding = {};  // of the inputs of the whole, along the other axes
  MeshCosts costs = {};
  Bindings typical = {};
};

/// One rank's end of a pipeline. All ranks make it and run it together, each in one thread.
///
/// A stage runs a piece as soon as it has what earlier stages give it, and goes on with the next one while what it gave
/// is on its way: with enough pieces all stages work at once. What a stage needs of one that is not its neighbour goes
/// through those between them. Along the other axes of the mesh a stage is shared out as any graph, and what it gives
/// is sent in parts, each rank to the one in its place.
class PipelineProgram {
 public:
  /// `stages` are graphs that take inputs of `whole` or outputs of earlier stages by name, as many as the mesh has
  /// ranks along the axis; together they give the outputs of `whole`. Error, on every rank: other numbers of ranks,
  /// other programs.
  PipelineProgram(const Graph& whole, const std::vector<Graph>& stages, const MeshShape& mesh,
                  const PipelineOptions& options, Communicator& world, const Engine& engine);

  /// Inputs are whole, in the order of `whole`; those that this rank's stage does not take are not looked at. Results
  /// are whole on every rank.
  std::vector<Array> run(const std::vector<Array>& inputs, const Bindings& known = {});

  int stage() const { return stage_; }
  /// Bytes that this rank has sent: within its stage, and to the next one.
  double sent_bytes() const { return program_->traffic().bytes + sent_bytes_; }

 private:
  /// A tensor that goes from one stage to others.
  struct Carried {
    std::string name;
    Shape shape;
    Layout layout;
    int from = 0, last = 0;  // the stage that makes it, and the last one that needs it
  };
  using Arrays = std::map<std::string, Array>;
  class Piece;

  void plan_stages(const std::vector<Graph>& stages, const PipelineOptions& options, const Engine& engine);
  std::vector<int64_t> local_dims(const Carried& tensor, const Bindings& bindings) const;
  /// Those that cross from a stage to the next one.
  std::vector<const Carried*> crossing(int stage) const;
  Array whole_output(size_t output, const std::vector<Arrays>& pieces, const std::vector<Bindings>& sizes);

  Graph whole_;
  MeshShape inner_;               // the mesh of a stage
  std::vector<int> inner_place_;  // this rank's in it
  int stage_ = 0, stages_ = 1;
  int64_t pieces_ = 1;
  std::string piece_axis_;  // empty: one piece
  Communicator& world_;
  std::unique_ptr<Communicator> own_;             // the ranks of the stage
  std::unique_ptr<Communicator> along_;           // those in this one's place, of all stages
  std::unique_ptr<Communicator> before_, after_;  // this rank and the one of the stage before it, or behind it
  std::vector<Carried> carried_;
  std::map<std::string, size_t> inputs_;  // of the whole
  std::unique_ptr<MeshProgram> program_;
  double sent_bytes_ = 0;
};

}  // namespace tenon::mesh
