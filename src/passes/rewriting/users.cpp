#include "passes/rewriting/users.h"

namespace tenon::passes {

Users::Users(const Graph& graph) {
  for (const Node* node : graph.nodes()) {
    for (const Value& value : node->inputs) {
      std::vector<const Node*>& readers = readers_[&value.node()];
      if (readers.empty() || readers.back() != node) {
        readers.push_back(node);
      }
    }
  }
  for (const Output& out : graph.outputs()) {
    outputs_[&out.value.node()] = true;
  }
}

const std::vector<const Node*>& Users::of(const Node& node) const {
  static const std::vector<const Node*> none;
  const auto found = readers_.find(&node);
  return found == readers_.end() ? none : found->second;
}

}  // namespace tenon::passes
