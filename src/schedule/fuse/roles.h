// What the scheduler does with each node: loaded, folded into its users, a loop, or a step of its own.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "schedule/nest/kind_roles.h"
#include "schedule/nest/nest.h"

namespace tenon::schedule {

class Roles {
 public:
  /// Decides every node of the graph; views that cannot be index maps become copies. With these options each loop alone
  /// is a kernel.
  Roles(const Graph& graph, MapPrograms& programs, const ScheduleOptions& options);

  NodeRole of(const Node& node) const { return roles_.at(&node); }
  /// Why a view is a copy or an operation has no loop form; empty for most.
  std::string reason(const Node& node) const;

  /// Values in memory, or to be put there, that a node reads: through what is folded into it.
  const std::vector<Value>& operands(const Node& node) const { return operands_.at(&node); }

  const StorageOrders& storage() const { return storage_; }

  /// Folded values that must also be stored, for the caller or for a step that is no loop.
  const std::vector<Value>& stored_folded() const { return stored_folded_; }

 private:
  NodeRole first_guess(const Node& node, MapPrograms& programs) const;
  bool is_number_of_leaves(const Node& node, MapPrograms& programs) const;
  std::vector<Value> find_operands(const Node& node) const;
  void store(const Value& value);
  void store_operands(const Node& node);
  void settle(const Node& node, MapPrograms& programs);
  bool lay_in_rows(Value operand);

  std::unordered_map<const Node*, NodeRole> roles_;
  std::unordered_map<const Node*, std::string> reasons_;
  std::unordered_map<const Node*, std::vector<Value>> operands_;
  std::vector<Value> stored_folded_;
  ScheduleOptions options_;  // for the kernel of a loop alone
  StorageOrders storage_;
};

/// A view of an input or a constant as a buffer with strides: no kernel at all.
struct StridedView {
  Value base;
  Extent offset = 0;
  std::vector<Extent> strides;
};
std::optional<StridedView> as_strided_view(const Value& value);

}  // namespace tenon::schedule
