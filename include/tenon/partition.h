// How a model maps onto hardware: its operators with their costs, cut into parts, placed, estimated and proven.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/bindings.h"
#include "tenon/graph.h"

namespace tenon::partition {

/// What an operator does, for rules: read from its structure, never from its name.
enum class Role : uint8_t {
  product,    ///< a sum of products
  depthwise,  ///< a convolution that mixes no channels
  map,        ///< element by element, parameters included: an activation, a batch norm with given statistics
  row,        ///< reductions and what is made of them: softmax, layer norm, mean
  window,     ///< pools
  move,       ///< elements in another place: transpose, concat, pad
  gather,     ///< by positions that are data
  other,      ///< sorts, scans, loops, conditionals: not cut into tiles
};
std::string_view name(Role role);

/// An array between operators, or one that the graph takes or gives.
struct WorkTensor {
  std::string name;
  Shape shape;
  Extent bytes;
  int producer = -1;         ///< an operator; -1: an input, or known before any run
  std::vector<int> readers;  ///< operators, each once, in order
  bool weight = false;       ///< constants, what is made of them alone, and state that a run updates
  bool output = false;       ///< of the graph
  bool in_place = false;     ///< takes over the memory of the state it updates
  Extent kept = 0;           ///< of `bytes`, what its producer leaves there as it was
};

/// A tensor as one operator reads it: `bytes` are fewer than the tensor's where it reads a slice, and 0 where it writes
/// to a slice in place.
struct Read {
  int tensor = -1;
  Extent bytes;
};

/// The unit of work. A product has its bias in it, a mean its division, a composite without products is one operator.
/// Reshapes, broadcasts and slices are none, nor is what depends on no input: both belong to whoever reads them.
struct Operator {
  std::string name;  ///< unique: `conv3`
  std::string kind;  ///< `conv`, `batch_norm`
  std::string place;
  Role role = Role::other;
  std::vector<Read> reads;  ///< weights too; each tensor once
  std::vector<int> writes;
  Extent macs;         ///< multiply-accumulates
  Extent flops;        ///< all arithmetic, in about one addition
  Extent parallelism;  ///< results that can be computed independently
  Extent least_bytes;  ///< of the smallest piece that can be computed by itself
  uint64_t structure;  ///< equal for operators of one kind that look alike, whatever their sizes
};

/// A graph as operators, operands before users. Figures are extents: one plan can be asked at many sizes.
struct WorkGraph {
  Graph graph;  ///< with the composites that have products opened; holds all nodes
  std::vector<Operator> operators;
  std::vector<WorkTensor> tensors;
  std::vector<std::vector<const Node*>> nodes;  ///< that each operator computes
  std::vector<Value> values;                    ///< that each tensor is

  /// The operator of that name; an Error that says what may have been meant.
  int find(std::string_view name) const;
};

/// Composites that have products are opened; others are one operator each.
WorkGraph work_graph(const Graph& graph);
/// The nodes of `graph` as they are: those of `groups` are operators, one for each list, others belong to their
/// readers.
WorkGraph work_graph_of(const Graph& graph, std::span<const std::vector<const Node*>> groups);

/// A memory of a chip.
struct Memory {
  std::string name;
  int64_t bytes = 0;
  double bandwidth = 0;        ///< bytes a second
  double joules_per_byte = 0;  ///< 0: not known
  bool cache = false;          ///< what does not fit is slower, not impossible
};

/// Units of one kind that compute.
struct Unit {
  std::string name;
  int64_t count = 1;
  std::vector<std::pair<std::string, double>> flops;       ///< a second and unit, by dtype; "any" for all others
  std::vector<std::pair<std::string, double>> efficiency;  ///< reached of that, by role; 1 where none is given
  int64_t lanes = 1;                                       ///< independent results that fill one unit
  std::string memory;                                      ///< its own: what a part works on must fit
  double joules_per_flop = 0;
};

/// Hardware, as data.
struct Profile {
  std::string name, doc;
  std::vector<Memory> memories;  ///< the first holds everything; others belong to units
  std::vector<Unit> units;
  double link_bandwidth = 0;  ///< between devices of this kind, bytes a second
  double link_latency = 0;    ///< seconds
  double launch = 0;          ///< seconds to start a part

  const Unit& unit(std::string_view name) const;
  const Memory& memory(std::string_view name) const;
};

/// Read a profile; an Error with the line for a field that is not known, is missing or has a value it cannot have.
Profile parse_profile(std::string_view json, std::string_view what);
std::string to_json(const Profile& profile);
/// Those that are built in.
std::vector<std::string> profile_names();
/// By name. Error: it lists those there are.
Profile profile_named(std::string_view name);

/// What a part costs at the plan's sizes.
struct Figures {
  double flops = 0;
  int64_t bytes_read = 0;     ///< of other parts, inputs and weights; each tensor once
  int64_t bytes_written = 0;  ///< that other parts or the caller read
  int64_t weight_bytes = 0;   ///< of bytes_read
  int64_t bytes_again = 0;    ///< moved beyond these because it is done in tiles, which read some of it once more
  int64_t working_set = 0;    ///< the most that lives at once in it
  int64_t parallelism = 0;    ///< of its narrowest product, or of its widest operator
  double seconds = 0;         ///< on its unit
  double joules = 0;

  friend bool operator==(const Figures&, const Figures&) = default;
};

struct Part {
  std::vector<int> operators;  ///< in order
  std::vector<int> again;      ///< of these, the ones that an earlier part has computed too
  std::string unit;
  int64_t tiles = 1;  ///< pieces that its work is done in, one after the other, so that each fits
  std::string why;    ///< why it ends where it does
  Figures figures;

  friend bool operator==(const Part&, const Part&) = default;
};

/// A tensor that one part computes and another reads; one for each part that reads it. Inputs and weights are not
/// listed.
struct Transfer {
  int tensor = -1;
  int from = -1, to = -1;  ///< parts
  int64_t bytes = 0;       ///< that `to` reads of it

  friend bool operator==(const Transfer&, const Transfer&) = default;
};

struct Totals {
  double flops = 0;
  int64_t bytes_moved = 0;     ///< read and written by parts
  int64_t transfer_bytes = 0;  ///< of all transfers
  int64_t weight_bytes = 0;
  int64_t peak_bytes = 0;  ///< of activations alive at once between parts
  double latency = 0;      ///< seconds for one run, parts one after the other
  double interval = 0;     ///< seconds from one result to the next: the slowest device where there are several
  double joules = 0;

  friend bool operator==(const Totals&, const Totals&) = default;
};

/// What a part may be at most and must be at least, beside fitting into memory. 0: anything.
struct PartLimits {
  double flops = 0;  ///< of a piece: a part of several groups has no more, a group that has more is done in tiles
  int64_t parallelism = 0;  ///< groups that have as much are not joined with such that have less

  friend bool operator==(const PartLimits&, const PartLimits&) = default;
};

/// Parts in the order in which they run, with all that is claimed of them.
struct Plan {
  std::string model;
  std::string graph;  ///< which operators: `model`, or `optimized` for those that the compiler left
  uint64_t hash = 0;  ///< of the operators and tensors
  Bindings bindings;
  std::string fuse, by;  ///< strategies and partitioner, in the words of the options
  std::string profile;
  int64_t devices = 1;        ///< that parts are dealt to, in order
  int64_t micro_batches = 1;  ///< that run through them at once
  int64_t memory_limit = 0;   ///< of activations, which `peak_bytes` keeps; 0: none
  PartLimits limits;          ///< that parts keep
  std::vector<Part> parts;
  std::vector<Transfer> transfers;
  Totals totals;

  friend bool operator==(const Plan&, const Plan&) = default;
};

/// How parts are made. Strategies run in their order, then one partitioner.
struct PlanOptions {
  std::vector<std::string> fuse = {"vertical", "residual"};
  std::string by = "fusion";  ///< fusion: each group a part; parts, blocks, resources, pipeline
  int64_t parts = 0;          ///< of by parts, and devices of by pipeline
  double imbalance = 0.1;     ///< by parts: arithmetic of a part beyond the mean
  int64_t micro_batches = 1;  ///< of by pipeline
  int64_t memory_limit = 0;   ///< bytes of activations; values are computed again to keep it
  PartLimits limits = {};     ///< of by resources
};

/// The names of strategies and partitioners, with a line of what each does.
std::span<const std::pair<std::string_view, std::string_view>> strategy_table();
std::span<const std::pair<std::string_view, std::string_view>> partitioner_table();

/// A plan, verified. Errors are the user's: no such strategy, more parts than operators, a memory that is too small.
Plan make_plan(const WorkGraph& work, const Bindings& bindings, const Profile& profile, const PlanOptions& options);

/// Error, in one line that names an operator: the plan is not of this graph, an operator is missing or there twice,
/// parts depend on each other in a circle or come in the wrong order, a part computes what nobody reads before it is
/// computed again, transfers are not complete, a memory is too small, a limit is not kept, or a figure or a reason is
/// not what the parts give.
void verify(const Plan& plan, const WorkGraph& work, const Profile& profile);

/// The plan at other sizes: the same parts, with figures of `bindings`.
Plan rebind(const Plan& plan, const WorkGraph& work, const Profile& profile, const Bindings& bindings);

std::string to_json(const Plan& plan, const WorkGraph& work);
/// Read a plan; names of operators are looked up in `work`. Error with the line.
Plan parse_plan(std::string_view json, std::string_view what, const WorkGraph& work);
/// Lines that say what differs; none where nothing does.
std::vector<std::string> differences(const Plan& a, const Plan& b, const WorkGraph& work);

/// Why two operators are, or are not, in one part of the plan: which strategies joined them, or what each says of them,
/// and what the partitioner did with their groups.
std::string why(const WorkGraph& work, const Plan& plan, std::string_view a, std::string_view b);

/// Part `index` as a graph of its own: inputs are what it reads of other parts and of the graph, outputs what they and
/// the caller read of it. Names are those of tensors.
Graph part_graph(const WorkGraph& work, const Plan& plan, size_t index);

}  // namespace tenon::partition
