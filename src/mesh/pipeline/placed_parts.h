// Parts of a graph on ranks of their own: each is whole, and what one part reads of another is sent.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "mesh/exchange/communicator.h"
#include "mesh/run/mesh_program.h"

namespace tenon::mesh {

/// A part and the rank that runs it.
struct PlacedPart {
  Graph graph;
  int rank = 0;
};

/// One rank's end of a graph in parts. All ranks make it and run it together, each in one thread.
class PlacedParts {
 public:
  /// Parts take inputs of `whole` or outputs of earlier parts by name; outputs of the whole that no part gives are made
  /// on every rank. Error, on every rank: a rank has other parts, a part needs what no earlier one gives.
  PlacedParts(const Graph& whole, std::vector<PlacedPart> parts, Communicator& world, const Engine& engine);

  /// Inputs are whole. The outputs of the whole that this rank's parts give, others are empty scalars: collect() brings
  /// them.
  std::vector<Array> run(const std::vector<Array>& inputs, const Bindings& bindings);
  /// The outputs of the whole on every rank, from those that run() gave. All call it together.
  std::vector<Array> collect(std::vector<Array> outputs, const Bindings& bindings);

  /// Seconds that this rank's parts took in the last run, by part; 0 for parts of others.
  const std::vector<double>& seconds() const { return seconds_; }
  /// Bytes that this rank sent in the last run.
  double sent_bytes() const { return sent_bytes_; }

 private:
  /// A tensor that one rank gives another, once.
  struct Message {
    std::string name;
    Shape shape;
    int from = 0, to = 0;
  };

  Graph whole_;
  std::vector<PlacedPart> parts_;
  Communicator& world_;
  std::vector<SegmentRun> runs_;   // of this rank's parts
  SegmentRun rest_;                // of outputs that no part gives
  std::vector<int> giver_;         // the rank of each output of the whole; -1: every rank
  std::vector<Message> messages_;  // their places are their tags
  std::vector<double> seconds_;
  double sent_bytes_ = 0;
};

}  // namespace tenon::mesh
