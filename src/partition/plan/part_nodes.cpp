#include "partition/plan/part_nodes.h"

#include <algorithm>

namespace tenon::partition {

std::vector<std::string> nodes_of(const Part& part, const WorkGraph& work) {
  std::vector<std::string> nodes;
  for (const int index : part.operators) {
    const std::string& place = work.operators[static_cast<size_t>(index)].place;
    if (!place.empty() && std::ranges::find(nodes, place) == nodes.end()) {
      nodes.push_back(place);
    }
  }
  return nodes;
}

}  // namespace tenon::partition
