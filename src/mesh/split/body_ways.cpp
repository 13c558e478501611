#include "mesh/split/body_ways.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/fail.h"
#include "ir/walk.h"
#include "tenon/error.h"

namespace tenon::mesh {
namespace {

const Placement kSumOfParts = Placement::partial(ReduceOp::sum);

/// Exchanges cost so much that one is chosen only where there is no other way.
ShardOptions inside() {
  ShardOptions options{.whole_outputs = false, .kept_sums = KeptSums::all};
  options.costs.link = {.latency = 1e6, .bytes_per_second = 1};
  return options;
}

Placement along(const Placement& placement, int axes) {
  Placement moved = placement;
  if (moved.is_split()) moved.axis += axes;
  return moved;
}

Layout along(const Layout& layout, int axes) {
  Layout moved = layout;
  for (Placement& each : moved) {
    each = along(each, axes);
  }
  return moved;
}

/// Which operand each input of a body is, and which result of the node its outputs are; -1: none. `input_axes` and
/// `output_axes` are how many axes the operand and the result have in front.
struct BodyPorts {
  std::vector<int> inputs, input_axes;
  std::vector<int> outputs, output_axes;
};

BodyPorts ports_of(const Node& node, const Graph& body) {
  BodyPorts ports;
  if (const auto* loop = node.as<Loop>()) {
    ports.inputs = {-1};
    ports.input_axes = {0};
    for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i) {
      ports.inputs.push_back(i);
      ports.input_axes.push_back(i >= loop->carried && i < loop->carried + loop->scanned ? 1 : 0);
    }
    if (loop->conditional) {
      ports.outputs.push_back(-1);
      ports.output_axes.push_back(0);
    }
    for (int i = 0; i < static_cast<int>(node.shapes.size()); ++i) {
      ports.outputs.push_back(i);
      ports.output_axes.push_back(i >= loop->carried ? 1 : 0);
    }
  } else {
    for (int i = 0; i < static_cast<int>(body.inputs().size()); ++i) {
      ports.inputs.push_back(i + 1);
      ports.input_axes.push_back(0);
    }
    for (int i = 0; i < static_cast<int>(body.outputs().size()); ++i) {
      ports.outputs.push_back(i);
      ports.output_axes.push_back(0);
    }
  }
  return ports;
}

/// The body with inputs that lie as operands of the node do. `results`, where given, are how outputs are to lie.
ShardedGraph shard_body(const Node& node, const Graph& body, const std::vector<Layout>& operands,
                        const std::vector<Layout>* results, const MeshShape& mesh, int rank) {
  const BodyPorts ports = ports_of(node, body);
  std::vector<Layout> inputs;
  for (size_t i = 0; i < ports.inputs.size(); ++i) {
    inputs.push_back(ports.inputs[i] < 0 ? whole_layout(mesh)
                                         : along(operands[static_cast<size_t>(ports.inputs[i])], -ports.input_axes[i]));
  }
  ShardOptions options = inside();
  for (size_t i = 0; results != nullptr && i < ports.outputs.size(); ++i) {
    options.outputs.push_back(ports.outputs[i] < 0
                                  ? whole_layout(mesh)
                                  : along((*results)[static_cast<size_t>(ports.outputs[i])], -ports.output_axes[i]));
  }
  return shard(body, mesh, std::move(inputs), rank, options);
}

/// How two bodies, or a trip and the next one, may both have a tensor: what is whole can be cut, or be a term that one
/// rank has. Nothing where an exchange would be needed.
std::optional<Placement> common_placement(const Placement& a, const Placement& b) {
  if (a == b || b.is_whole()) return a;
  return a.is_whole() ? std::optional(b) : std::nullopt;
}

class BodyFinder {
 public:
  BodyFinder(const Node& node, const std::vector<Placement>& now, int ranks)
      : node_(node), mesh_{.axes = {{.name = "m", .size = ranks}}}, bodies_(called_graphs(node)) {
    for (size_t i = 0; i < now.size(); ++i) {
      const bool is_along_trips = axes_in_front(i) > 0 && now[i].is_split() && now[i].axis == 0;
      const bool is_kept = now[i].is_split() && !now[i].cut.reach && !is_along_trips;
      operands_.push_back({is_kept ? now[i] : Placement{}});
    }
    if (node.as<If>() != nullptr) operands_[0] = whole_layout(mesh_);
  }

  std::vector<Way> find() {
    if (!is_split()) return {};
    // Each round splits something that was whole, or is the last.
    for (size_t round = 0; round <= operands_.size(); ++round) {
      results_.assign(node_.shapes.size(), whole_layout(mesh_));
      bool is_steady = true;
      for (const Graph& body : bodies_) {
        const ShardedGraph sharded = shard_body(node_, body, operands_, nullptr, mesh_, 0);
        if (!sharded.collectives.empty() || !take(body, sharded, is_steady)) return {};
      }
      if (is_steady) return way();
    }
    return {};
  }

 private:
  int axes_in_front(size_t operand) const {
    const auto* loop = node_.as<Loop>();
    const auto at = static_cast<int>(operand);
    return loop != nullptr && at >= loop->carried && at < loop->carried + loop->scanned ? 1 : 0;
  }

  bool is_split() const {
    return std::ranges::any_of(operands_, [](const Layout& each) { return each[0].is_split(); });
  }

  /// Results as the body gives them, and what is carried as it is needed for that. False where there is no way.
  bool take(const Graph& body, const ShardedGraph& sharded, bool& is_steady) {
    const BodyPorts ports = ports_of(node_, body);
    const auto* loop = node_.as<Loop>();
    for (size_t i = 0; i < ports.outputs.size(); ++i) {
      const Placement given = sharded.output_layouts[i][0];
      if (given.is_partial() && given != kSumOfParts) return false;
      if (ports.outputs[i] < 0) {
        if (!given.is_whole()) return false;
        continue;
      }
      const auto result = static_cast<size_t>(ports.outputs[i]);
      Placement& wanted = results_[result][0];
      const auto both = common_placement(wanted, along(given, ports.output_axes[i]));
      if (!both) return false;
      wanted = *both;
      if (loop == nullptr || ports.outputs[i] >= loop->carried) continue;
      Placement& carried = operands_[result][0];
      const auto kept = common_placement(carried, wanted);
      if (!kept) return false;
      is_steady = is_steady && *kept == carried;
      carried = wanted = *kept;
    }
    return true;
  }

  /// With what was found, unless it takes an exchange after all.
  std::vector<Way> way() const {
    if (local_bodies(node_, operands_, results_, mesh_, {0}).empty()) return {};
    Way result;
    for (const Layout& each : operands_) {
      result.operands.push_back(each[0]);
    }
    for (const Layout& each : results_) {
      result.results.push_back(each[0]);
    }
    return {result};
  }

  const Node& node_;
  MeshShape mesh_;
  std::vector<Graph> bodies_;
  std::vector<Layout> operands_, results_;
};

}  // namespace

bool has_bodies(const Node& node) { return node.as<Loop>() != nullptr || node.as<If>() != nullptr; }

std::vector<Way> body_ways(const Node& node, const std::vector<Placement>& now, int ranks) {
  return BodyFinder(node, now, ranks).find();
}

std::vector<Graph> local_bodies(const Node& node, const std::vector<Layout>& operands,
                                const std::vector<Layout>& results, const MeshShape& mesh,
                                const std::vector<int>& coordinates) {
  int rank = 0;
  for (size_t m = 0; m < coordinates.size(); ++m) {
    rank = rank * mesh.axes[m].size + coordinates[m];
  }
  std::vector<Graph> bodies;
  for (const Graph& body : called_graphs(node)) {
    const ShardedGraph sharded = shard_body(node, body, operands, &results, mesh, rank);
    if (!sharded.collectives.empty()) return {};
    bodies.emplace_back(body.name(), sharded.inputs, sharded.outputs, body.relations());
  }
  return bodies;
}

}  // namespace tenon::mesh
