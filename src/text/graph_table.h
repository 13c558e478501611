// The graphs of a text by the names that the text gives them.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tenon/graph.h"

namespace tenon::text {

/// Writing: a label for each graph, unique, and its name wherever that is free.
class GraphLabels {
 public:
  /// Equal graphs have one label; false when there was one.
  bool add(const Graph& graph);
  const std::string& of(const Graph& graph) const;

 private:
  const std::string* find(const Graph& graph) const;

  struct Labelled {
    Graph graph;
    std::string label;
  };
  std::unordered_multimap<uint64_t, Labelled> labels_;  // by hash
  std::unordered_set<std::string> taken_;
};

/// Reading: what has been read so far, and what of it is called.
class GraphTable {
 public:
  bool contains(const std::string& label) const { return graphs_.contains(label); }
  void add(std::string label, Graph graph) { graphs_.emplace(std::move(label), std::move(graph)); }

  /// The graph, which from now on counts as called; null when there is none.
  const Graph* call(const std::string& label);
  bool is_called(const std::string& label) const { return called_.contains(label); }

  std::vector<std::string> labels() const;

 private:
  std::unordered_map<std::string, Graph> graphs_;
  std::unordered_set<std::string> called_;
};

}  // namespace tenon::text
