#include "mesh/split/estimate.h"

#include <algorithm>

#include "ops/macs.h"
#include "tenon/error.h"

namespace tenon::mesh {
namespace {

constexpr int64_t kTypicalSize = 64;

void bind_names(const Extent& extent, Bindings& bindings) {
  for (const std::string& name : extent.names()) {
    if (!bindings.find(name)) bindings.set(name, kTypicalSize);
  }
}

}  // namespace

double Collective::sent_share(CollectiveKind kind, int ranks) {
  const double n = ranks;
  switch (kind) {
    case CollectiveKind::all_reduce: return 2 * (n - 1) / n;
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter: return (n - 1) / n;
    case CollectiveKind::all_to_all: return (n - 1) / (n * n);
    case CollectiveKind::halo_exchange: return 1;
  }
  return 0;
}

Estimate::Estimate(const Graph& graph, const ShardOptions& options) : costs_(options.costs), typical_(options.typical) {
  for (const Node* node : graph.nodes()) {
    for (const Shape& shape : node->shapes) {
      for (const Axis& axis : shape.axes()) {
        bind_names(axis.extent(), typical_);
      }
    }
  }
}

double Estimate::value(const Extent& extent) const {
  try {
    return static_cast<double>(std::max<int64_t>(evaluate(extent, typical_), 0));
  } catch (const Error&) {
    return static_cast<double>(kTypicalSize);  // sizes that make no sense together: any number is as good
  }
}

double Estimate::elements(const Shape& shape) const { return value(shape.element_count()); }

double Estimate::seconds_to_move(const Shape& shape, const Placement& from, const Placement& to,
                                 const MeshAxis& axis) const {
  if (from == to || from.is_whole()) return 0;
  const LinkCosts& link = costs_.along(axis.name);
  if (from.is_split() && to.is_split() && from.axis == to.axis) {
    const double rows = value(missing(from.cut, to.cut, axis.size / 2, axis.size));
    const double all = std::max(value(shape.extent(from.axis)), 1.0);
    return link.latency +
           rows / all * elements(shape) * static_cast<double>(byte_size(shape.dtype())) / link.bytes_per_second;
  }
  const bool is_direct = to.is_split() && !to.cut.reach;
  CollectiveKind kind = CollectiveKind::all_gather;
  if (from.is_partial()) {
    kind = is_direct ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce;
  } else if (is_direct) {
    kind = CollectiveKind::all_to_all;
  }
  const double bytes = elements(shape) * static_cast<double>(byte_size(shape.dtype()));
  return link.latency + Collective::sent_share(kind, axis.size) * bytes / link.bytes_per_second;
}

double Estimate::seconds_to_bring_back(const Node& node, size_t output, const Placement& from, const Placement& to,
                                       const MeshAxis& axis) const {
  const double time = seconds_to_move(node.shapes[output], from, to, axis);
  const auto* broadcast = node.as<Broadcast>();
  if (broadcast == nullptr || !from.is_split()) return time;
  // Who needs the whole can repeat the whole of what is repeated, which is smaller.
  const auto found = std::ranges::find(broadcast->axes, from.axis);
  if (found == broadcast->axes.end()) return 0;
  const Placement before = Placement::split(static_cast<int>(found - broadcast->axes.begin()), from.cut);
  return std::min(time, seconds_to_move(node.inputs[0].shape(), before, {}, axis));
}

double Estimate::seconds_to_compute(const Node& node) const {
  double work = value(macs(node));
  for (const Shape& shape : node.shapes) {
    work += 10 * elements(shape);
  }
  return work / costs_.work_per_second;
}

}  // namespace tenon::mesh
