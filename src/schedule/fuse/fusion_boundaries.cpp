// Why kernels end where they do, and what is weighed before they are joined.
#include <fmt/format.h>

#include <algorithm>

#include "kernel/program/program.h"
#include "schedule/blocks/operand_loops.h"
#include "schedule/fuse/attempts.h"
#include "schedule/fuse/fusion.h"
#include "schedule/fuse/named.h"

namespace tenon::schedule {

std::set<int> Fusion::readers_of(const Cluster& cluster) const {
  std::set<int> readers;
  for (const Node* node : cluster.owned) {
    for (size_t i = 0; i < node->shapes.size(); ++i) {
      readers.merge(clusters_reading(Value(node, static_cast<int>(i))));
    }
  }
  return readers;
}

/// What was found last of these two; none where they were not tried as they are now.
const KeptApart* Fusion::kept_apart(const Cluster& cluster, const Cluster& reader) const {
  const auto found = std::ranges::find_if(cluster.apart.rbegin(), cluster.apart.rend(), [&](const KeptApart& each) {
    return reader.members.contains(each.reader) && each.nodes == cluster.nodes.size() &&
           each.reader_nodes == reader.nodes.size();
  });
  return found == cluster.apart.rend() ? nullptr : &*found;
}

/// What was found last of a reader that a cluster stays apart from; none where there is none. That a third kernel
/// stands between says less than why that one is there.
const KeptApart* Fusion::kept_apart(const Cluster& cluster) const {
  const KeptApart* last = nullptr;
  for (const int id : readers_of(cluster)) {
    const KeptApart* found = kept_apart(cluster, clusters_.at(id));
    if (found != nullptr && (last == nullptr || (last->why == kBetween && found->why == kBetween && last < found) ||
                             (found->why != kBetween && (last->why == kBetween || last < found)))) {
      last = found;
    }
  }
  return last;
}

/// The node of a cluster that another reads, and that one.
std::string Fusion::between(const Cluster& cluster, const Node& reader) const {
  const std::vector<Value>& operands = roles_.operands(reader);
  const auto read =
      std::ranges::find_if(operands, [&](const Value& operand) { return cluster.members.contains(&operand.node()); });
  return fmt::format("{} with {}", named(read == operands.end() ? *cluster.nodes.back() : read->node()), named(reader));
}

std::string Fusion::why_apart(const Cluster& cluster) const {
  const KeptApart* last = kept_apart(cluster);
  return last == nullptr ? "" : fmt::format("{}: {}", between(cluster, *last->reader), last->why);
}

void Fusion::confirm_boundaries() const {
  for (const auto& [id, cluster] : clusters_) {
    if (roles_.of(*cluster.nodes[0]) == NodeRole::alone) {
      continue;
    }
    for (const int reader : readers_of(cluster)) {
      const Cluster& other = clusters_.at(reader);
      if (roles_.of(*other.nodes[0]) == NodeRole::alone) {
        continue;
      }
      AttemptLog::record([&] {
        const auto result = merged(cluster, other, false);
        const auto* why = std::get_if<std::string>(&result);
        return FusionAttempt{.rule = kOperandRule,
                             .first = cluster.nodes,
                             .second = other.nodes,
                             .again = true,
                             .finding = why == nullptr ? "nothing is in the way" : *why};
      });
    }
  }
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
        return fmt::format("{}: {} is a step of its own", between(cluster, reader), op_name(reader.op));
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

bool Fusion::needs_much_scratch(const Nest& nest) const {
  const auto is_much = [](const loops::Kernel& kernel) {
    const Extent bytes = loops::scratch_bytes(kernel).substitute(kernel.arguments);
    return bytes.evaluate([](std::string_view) { return kNominalSize; }) > kMostScratch;
  };
  if (!nest.has_products || !is_much(nest.kernel)) return false;
  return !options_.blocks || is_much(without_operand_scratch(nest.kernel));
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
  if (roles_.of(*cluster.nodes[0]) == NodeRole::alone || !cluster.boundary.empty()) {
    return;
  }
  for (const int reader : readers_of(cluster)) {
    const Cluster& other = clusters_.at(reader);
    if (roles_.of(*other.nodes[0]) == NodeRole::alone || kept_apart(cluster, other) != nullptr ||
        !try_merge(id, reader, false)) {
      continue;
    }
    pending.push_back(reader);
    for (const Node* node : clusters_.at(reader).nodes) {
      for (const Value& operand : roles_.operands(*node)) {
        const auto maker = owner_.find(&operand.node());
        if (maker != owner_.end() && maker->second != reader) {
          pending.push_back(maker->second);
        }
      }
    }
    return;
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
