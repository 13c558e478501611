#include "mesh/split/pulls.h"

#include <algorithm>

#include "ir/node.h"

namespace tenon::mesh {

void Pulls::add(const Value& value, const Layout& layout) {
  pull(value, std::ranges::all_of(layout, &Placement::is_whole), layout);
}

void Pulls::pull(const Value& value, bool whole, const Layout& parts) {
  Pull& found = pulls_.try_emplace(value, Pull{0, nowhere_}).first->second;
  found.whole += whole ? 1 : 0;
  for (size_t m = 0; m < parts.size(); ++m) {
    if (parts[m].is_split()) found.parts[m] = parts[m];
  }
}

void Pulls::follow(const Graph& graph) {
  const auto& nodes = graph.nodes();
  for (size_t i = nodes.size(); i-- > 0;) {
    const auto found = pulls_.find(Value(nodes[i], 0));
    if (found == pulls_.end()) continue;
    Pull wanted = found->second;
    if (const auto* transpose = nodes[i]->as<Transpose>()) {
      for (Placement& each : wanted.parts) {
        if (each.is_split()) each.axis = transpose->axes[static_cast<size_t>(each.axis)];
      }
    } else if (nodes[i]->as<Reshape>() != nullptr) {
      wanted.parts = nowhere_;
    } else if (nodes[i]->as<Map>() == nullptr) {
      continue;
    }
    for (const Value& operand : nodes[i]->inputs) {
      pull(operand, wanted.whole > 0, wanted.parts);
    }
  }
}

std::optional<Placement> Pulls::at(const Value& value, size_t mesh_axis) const {
  const auto found = pulls_.find(value);
  if (found == pulls_.end()) return std::nullopt;
  const Placement& parts = found->second.parts[mesh_axis];
  if (parts.is_split()) return parts;
  return found->second.whole > 0 ? std::optional(Placement{}) : std::nullopt;
}

int Pulls::whole_readers(const Value& value) const {
  const auto found = pulls_.find(value);
  return found == pulls_.end() ? 0 : found->second.whole;
}

}  // namespace tenon::mesh
