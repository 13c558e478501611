// Which nodes of a graph are one operator, and what operators read and write.
#pragma once

#include <set>
#include <unordered_map>
#include <unordered_set>

#include "partition/work/opened.h"
#include "tenon/partition.h"

namespace tenon::partition {

class WorkBuilder {
 public:
  explicit WorkBuilder(const Graph& graph);

  /// Each node that computes is an operator, but for what belongs together (Operator in tenon/partition.h).
  void group_by_rules(const Opened& opened);
  /// Each list is an operator, also one that depends on no input.
  void group_as_given(std::span<const std::vector<const Node*>> groups);

  WorkGraph finish() &&;

 private:
  /// Depends on no input and on nothing that an operator computes.
  bool is_known(const Node& node) const { return known_.contains(&node); }
  bool computes(const Node& node) const;
  int joined(const Node& node, const Opened& opened) const;
  int bias_or_mean(const Node& node) const;
  int rows_of_composite(const Node& node, const Opened& opened) const;
  bool is_sole_reader(const Node& reader, const Value& value) const;

  Value base_of(Value value) const;
  static Extent bytes_seen(const Value& value);
  int tensor_of(const Value& base);
  void add_tensor(const Value& value, int producer);
  void describe(int index, const Opened* opened);
  void add_reads(int index);
  std::string unique(const std::string& wanted);
  void find_state();
  void mark_outputs();

  WorkGraph work_;
  std::unordered_set<const Node*> known_, weights_;
  std::unordered_map<const Node*, int> owner_;
  std::vector<std::unordered_set<const Node*>> members_;  // of groups that were given: all that each computes
  std::unordered_map<const Node*, int> uses_;
  std::unordered_set<const Node*> outputs_;
  std::unordered_set<const Node*> in_place_;  // updates of state that an output gives back
  std::unordered_map<Value, int> tensors_;
  std::unordered_map<std::string, int> counts_;
  std::set<std::string> names_;
  const Opened* opened_ = nullptr;
};

}  // namespace tenon::partition
