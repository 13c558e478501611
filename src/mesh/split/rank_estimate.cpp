#include "mesh/split/rank_estimate.h"

#include <algorithm>
#include <unordered_map>

#include "mesh/split/estimate.h"
#include "mesh/split/ways.h"

namespace tenon::mesh {
namespace {

/// Ranks that share the tensor out.
double ranks_of(const Layout& layout, const MeshShape& mesh) {
  double ranks = 1;
  for (size_t m = 0; m < layout.size(); ++m) {
    if (layout[m].is_split()) ranks *= mesh.axes[m].size;
  }
  return ranks;
}

double bytes_of(const Estimate& estimate, const Shape& shape) {
  return estimate.elements(shape) * static_cast<double>(byte_size(shape.dtype()));
}

/// Of values that live at once, node by node, in the order of the graph.
double most_live_bytes(const ShardedGraph& graph, const Estimate& estimate) {
  std::unordered_map<const Node*, size_t> last;
  const auto& nodes = graph.whole.nodes();
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const Value& operand : nodes[i]->inputs) {
      last[&operand.node()] = i;
    }
  }
  std::vector<double> freed(nodes.size() + 1, 0);
  double live = 0, most = 0;
  size_t next = graph.whole.inputs().size();  // values has inputs first
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = *nodes[i];
    if (node.as<Input>() != nullptr) continue;
    const ShardedValue& value = graph.values[next++];
    const bool has_memory = node.as<Constant>() == nullptr && (node.as<Map>() != nullptr || !is_elementwise(node));
    if (has_memory) {
      const double bytes = bytes_of(estimate, value.shape) / ranks_of(value.layout, graph.mesh);
      live += bytes;
      const auto found = last.find(&node);
      freed[found == last.end() ? nodes.size() : found->second] += bytes;
    }
    most = std::max(most, live);
    live -= freed[i];
  }
  return most;
}

}  // namespace

double input_bytes(const ShardedGraph& graph, const Bindings& typical) {
  ShardOptions options;
  options.typical = typical;
  const Estimate estimate(graph.whole, options);
  double bytes = 0;
  for (size_t i = 0; i < graph.input_layouts.size(); ++i) {
    bytes += bytes_of(estimate, graph.whole.inputs()[i].shape()) / ranks_of(graph.input_layouts[i], graph.mesh);
  }
  return bytes;
}

RankEstimate estimate_rank(const ShardedGraph& graph, const ShardOptions& options) {
  const Estimate estimate(graph.whole, options);
  RankEstimate result;
  for (const Collective& each : graph.collectives) {
    const MeshAxis& axis = graph.mesh.axes[each.mesh_axis];
    RankEstimate::Traffic& traffic = result.along[axis.name];
    const double bytes = estimate.value(each.bytes) * Collective::sent_share(each.kind, axis.size);
    const LinkCosts& link = options.costs.along(axis.name);
    traffic.bytes += bytes;
    ++traffic.collectives;
    result.send_seconds += link.latency + bytes / link.bytes_per_second;
  }
  result.compute_seconds = graph.compute_seconds;
  result.input_bytes = input_bytes(graph, options.typical);
  result.most_bytes = most_live_bytes(graph, estimate);
  return result;
}

}  // namespace tenon::mesh
