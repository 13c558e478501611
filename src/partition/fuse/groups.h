// Operators that are joined step by step, with the rule that joined them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "partition/work/sized.h"

namespace tenon::partition {

/// Groups of operators whose quotient stays acyclic: join() refuses what would make a circle.
class Groups {
 public:
  explicit Groups(const SizedGraph& graph);

  const SizedGraph& graph() const { return graph_; }
  int find(int op) const;
  bool same(int a, int b) const { return find(a) == find(b); }
  const std::vector<int>& members(int op) const { return members_[static_cast<size_t>(find(op))]; }

  /// Join the groups of both, unless a path through a third group would then lead back.
  /// `rule` outlives this.
  bool join(int a, int b, std::string_view rule);
  /// A path from one group to the other leads through a third one, which their union would lie in a circle with.
  bool would_circle(int a, int b) const;
  /// Two operators that a rule joined.
  struct Joint {
    int a = -1, b = -1;
    std::string_view rule;
  };
  /// What joined two operators of one group: from the first over others to the second.
  std::vector<Joint> joints(int from, int to) const;

  /// Each group, operators in order; groups in the order of their first operators.
  std::vector<std::vector<int>> all() const;

 private:
  bool path_around(int from, int to) const;

  const SizedGraph& graph_;
  mutable std::vector<int> parent_;
  std::vector<std::vector<int>> members_;
  std::vector<std::vector<int>> exits_;     // of each group, the operators that others read
  std::vector<std::vector<Joint>> joints_;  // of each operator; they make a tree of each group
};

/// The activations that an operator reads.
std::vector<int> activations(const SizedGraph& graph, int op);
/// The tensor through which `reader` reads `producer`; -1 where it does not.
int tensor_between(const SizedGraph& graph, int producer, int reader);
/// The one reader of all that an operator writes, where nobody else needs it; -1 otherwise.
int sole_reader(const SizedGraph& graph, int op);

}  // namespace tenon::partition
