// From a graph and a sharding of its inputs to what one rank computes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mesh/parts/sharding.h"
#include "mesh/split/collective.h"
#include "mesh/split/costs.h"
#include "tenon/bindings.h"

namespace tenon::mesh {

/// Which outputs may stay terms of a sum over ranks; others are summed.
enum class KeptSums : uint8_t { none, of_state, all };

struct ShardOptions {
  MeshCosts costs = {};
  Bindings typical = {};      // sizes that costs are estimated for; 64 where a name has none
  bool whole_outputs = true;  // else outputs stay as they lie
  KeptSums kept_sums = KeptSums::none;
  std::vector<Layout> outputs = {};  // how all of them are to lie, where it is not empty
  bool state_stays = false;  // an output that takes over an input lies as the input does, whatever the others do
};

/// A tensor of the graph as it lies on the mesh.
struct ShardedValue {
  std::string name, operation;
  Shape shape;
  Layout layout;
  std::string reason;  // why it is whole although an operand is split; else empty
};

/// One rank's part of a graph. Everything but extents is the same on all ranks: collectives, their order, layouts.
struct ShardedGraph {
  MeshShape mesh;
  std::vector<int> coordinates;
  Graph whole;
  std::vector<Value> inputs;  // of the rank
  std::vector<Layout> input_layouts;
  std::vector<Output> outputs;  // of the rank
  std::vector<Layout> output_layouts;
  std::vector<Collective> collectives;  // each before those that need its result
  size_t tail_level = 0;                // of what is made for outputs alone
  std::vector<ShardedValue> values;     // of every node, in order
  double seconds = 0;                   // that a rank computes and sends, as estimated
  double compute_seconds = 0;           // without what it sends
};

/// Layouts go from the inputs to the outputs: each node runs in the way that costs least, moving its operands first
/// where that takes something. A node without a split operand runs whole; so does one that has no way to run in parts.
/// Sizes are those of `rank`, in terms of the names of the whole graph. Error: axes whose sizes data decide.
ShardedGraph shard(const Graph& graph, const MeshShape& mesh, const Sharding& sharding, int rank,
                   const ShardOptions& options = {});

/// The same with inputs that lie so.
ShardedGraph shard(const Graph& graph, const MeshShape& mesh, std::vector<Layout> inputs, int rank,
                   const ShardOptions& options = {});

/// A sharding of axis names that inputs have, for a user who gives none: for each axis of the mesh, in order, the name
/// with which the estimated time is least, or none.
Sharding choose_sharding(const Graph& graph, const MeshShape& mesh, const ShardOptions& options = {});

/// The same and more axes of inputs with known sizes, weights, as long as the estimated time falls; inputs that are
/// named alike but for numbers (`layers.*.weight`) lie alike. It begins with `from` and with nothing, and takes the
/// better of what it finds. Takes hundreds of times as long as to shard.
Sharding choose_weights(const Graph& graph, const MeshShape& mesh, Sharding from, const ShardOptions& options = {});

/// The same for every rank, and for every process that compiles the same: of the graph, the mesh and the collectives.
uint64_t fingerprint(const ShardedGraph& graph);

}  // namespace tenon::mesh
