// Why kernels end where they do, and what is weighed before they are joined.
#include <fmt/format.h>

#include <algorithm>

#include "kernel/program/program.h"
#include "schedule/fuse/fusion.h"

namespace tenon::schedule {

/// Why a cluster that is read stayed apart from its readers, as it was said last; empty where none of it still holds.
/// That a third kernel stands between says less than why that one is there.
std::string Fusion::why_apart(const Cluster& cluster) const {
  const KeptApart* last = nullptr;
  for (const KeptApart& each : cluster.apart) {
    const bool holds = !cluster.members.contains(each.reader) && !homes_.at(each.reader).empty();
    if (holds && (last == nullptr || each.why != kBetween)) {
      last = &each;
    }
  }
  return last == nullptr ? "" : fmt::format("{}: {}", op_name(last->reader->op), last->why);
}

/// Why a cluster ends where it does.
std::string Fusion::boundary(const Cluster& cluster) const {
  if (!cluster.boundary.empty()) {
    return cluster.boundary;
  }
  if (const std::string why = why_apart(cluster); !why.empty()) {
    return why;
  }
  bool is_read = false;
  for (const Node* node : cluster.owned) {
    for (const int id : clusters_reading(Value(node, 0))) {
      const Node& reader = *clusters_.at(id).nodes[0];
      is_read = true;
      if (roles_.of(reader) == NodeRole::alone) {
        return fmt::format("{} is a step of its own", op_name(reader.op));
      }
    }
  }
  const Node& last = *cluster.nodes.back();
  if (!roles_.reason(last).empty()) {
    return roles_.reason(last);
  }
  if (!is_read) {
    return "its results are outputs of the graph";
  }
  return options_.fuse ? "other kernels read its results" : "fusion is switched off";
}

bool Fusion::needs_much_scratch(const Nest& nest) {
  const Extent bytes = loops::scratch_bytes(nest.kernel).substitute(nest.kernel.arguments);
  return nest.has_products && bytes.evaluate([](std::string_view) { return kNominalSize; }) > kMostScratch;
}

double Fusion::largest_read(int id) const {
  const Cluster& cluster = clusters_.at(id);
  double largest = 0;
  for (const Node* node : cluster.nodes) {
    for (const Value& operand : roles_.operands(*node)) {
      largest = std::max(largest, cluster.members.contains(&operand.node()) ? 0 : bytes(operand));
    }
  }
  return largest;
}

void Fusion::settle_boundary(int id, std::vector<int>& pending) {
  const Cluster& cluster = clusters_.at(id);
  if (roles_.of(*cluster.nodes[0]) == NodeRole::alone || !cluster.boundary.empty() || !why_apart(cluster).empty()) {
    return;
  }
  std::set<int> readers;
  for (const Node* node : cluster.owned) {
    readers.merge(clusters_reading(Value(node, 0)));
  }
  for (const int reader : readers) {
    if (roles_.of(*clusters_.at(reader).nodes[0]) == NodeRole::loop && try_merge(id, reader, false)) {
      pending.push_back(reader);
      return;
    }
  }
}

void Fusion::settle_boundaries() {
  std::vector<int> pending;
  for (const auto& [id, cluster] : clusters_) {
    pending.push_back(id);
  }
  while (!pending.empty()) {
    const int id = pending.back();
    pending.pop_back();
    if (clusters_.contains(id)) {
      settle_boundary(id, pending);
    }
  }
  rebuild_stale();
}

}  // namespace tenon::schedule
