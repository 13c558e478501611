#include "text/graph_table.h"

#include "base/fail.h"

namespace tenon::text {

bool GraphLabels::add(const Graph& graph) {
  if (find(graph) != nullptr) {
    return false;
  }
  std::string label = graph.name();
  for (int i = 1; !taken_.insert(label).second; ++i) {
    label = fmt::format("{}.{}", graph.name(), i);
  }
  labels_.emplace(graph.hash(), Labelled{graph, std::move(label)});
  return true;
}

const std::string& GraphLabels::of(const Graph& graph) const {
  const std::string* label = find(graph);
  TENON_CHECK(label != nullptr, "graph {} has no label", graph.name());
  return *label;
}

const std::string* GraphLabels::find(const Graph& graph) const {
  const auto [begin, end] = labels_.equal_range(graph.hash());
  for (auto it = begin; it != end; ++it) {
    if (it->second.graph == graph) {
      return &it->second.label;
    }
  }
  return nullptr;
}

const Graph* GraphTable::call(const std::string& label) {
  const auto found = graphs_.find(label);
  if (found == graphs_.end()) {
    return nullptr;
  }
  called_.insert(label);
  return &found->second;
}

std::vector<std::string> GraphTable::labels() const {
  std::vector<std::string> labels;
  for (const auto& [label, graph] : graphs_) {
    labels.push_back(label);
  }
  return labels;
}

}  // namespace tenon::text
