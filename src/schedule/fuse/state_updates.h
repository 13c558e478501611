// State that is updated in place: an output that takes over an input's memory and differs from it in some slices stores
// those slices there, and nothing else.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "schedule/fuse/roles.h"

namespace tenon::schedule {

/// A chain of updates begins at an input and ends at the output that aliases it: all of its values lie in the input's
/// memory, one after the other. Whoever reads one of them runs before the next update of the chain writes there. Chains
/// for which there is no such order, or whose updates read what they overwrite, are none.
class StateUpdates {
 public:
  StateUpdates() = default;
  StateUpdates(const Graph& graph, const Roles& roles);

  bool empty() const { return next_.empty(); }
  /// Whether the value is made by an update that writes in place.
  bool contains(const Value& value) const { return memory_.contains(value); }
  /// The value whose memory this one lies in: the input of its chain, or itself.
  const Value& memory(const Value& value) const {
    const auto found = memory_.find(value);
    return found == memory_.end() ? value : found->second;
  }
  /// The update that writes over a value, which may be read no more then; null where there is none.
  const Node* next(const Value& value) const {
    const auto found = next_.find(value);
    return found == next_.end() ? nullptr : found->second;
  }
  /// What such an update stores: its second operand.
  static const Value& stored(const Value& update) { return update.node().inputs[1]; }

 private:
  std::unordered_map<Value, Value> memory_;      // of updates
  std::unordered_map<Value, const Node*> next_;  // of inputs and updates
};

}  // namespace tenon::schedule
