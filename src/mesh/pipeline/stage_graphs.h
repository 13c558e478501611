// One stage of a model that is trained: what it computes forward, and back.
#pragma once

#include <cstddef>
#include <vector>

#include "tenon/graph.h"

namespace tenon::mesh {

/// The gradient of an output of a stage, as one of its readers gives it.
struct OutputGradient {
  size_t output = 0;
  int reader = 0;  // a stage; the stage itself for the loss, whose gradient is the share that the piece has in it

  friend bool operator==(const OutputGradient&, const OutputGradient&) = default;
};

/// What backward needs of forward crosses between the two as arrays; cheap functions of single arrays, such as an
/// activation of a product, are computed again instead.
struct StageGraphs {
  /// Inputs and outputs of the stage; behind these outputs come those that backward takes.
  Graph forward;
  /// Inputs: those of the stage (`reads`), what forward kept, gradients of outputs (`gets`), sums of gradients so far,
  /// one for each of `sums`. Outputs: the new sums, which take over the old ones, then gradients of inputs (`gives`).
  /// Not there where `sums` and `gives` are empty: nothing flows back.
  Graph backward;
  std::vector<size_t> reads;         // inputs of the stage
  std::vector<OutputGradient> gets;  // in the order that was given
  std::vector<size_t> sums, gives;   // inputs of the stage
};

/// `from` are the gradients that the stage gets. It sums up those of the inputs of `trained` and gives those of
/// `passed`, as far as anything flows back to them.
StageGraphs stage_graphs(const Graph& stage, const std::vector<OutputGradient>& from,
                         const std::vector<size_t>& trained, const std::vector<size_t>& passed);

/// Which outputs of the stage depend on these inputs through floats, as gradients flow.
std::vector<bool> reached_outputs(const Graph& stage, const std::vector<size_t>& inputs);

}  // namespace tenon::mesh
