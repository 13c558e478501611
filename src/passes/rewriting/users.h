// Who reads what in a graph.
#pragma once

#include <unordered_map>
#include <vector>

#include "ir/node.h"

namespace tenon::passes {

/// The readers of every node of a graph; holds for as long as the graph does.
class Users {
 public:
  explicit Users(const Graph& graph);

  /// The nodes that read an output of `node`, each once.
  const std::vector<const Node*>& of(const Node& node) const;
  /// An output of the graph is an output of `node`.
  bool is_output(const Node& node) const { return outputs_.contains(&node); }
  /// Exactly one node reads it, and no output of the graph is it.
  bool is_sole(const Node& node) const { return !is_output(node) && of(node).size() == 1; }

 private:
  std::unordered_map<const Node*, std::vector<const Node*>> readers_;
  std::unordered_map<const Node*, bool> outputs_;
};

}  // namespace tenon::passes
