// The groups of a graph as strategies leave them one after the other, and what each of these says of two operators.
#pragma once

#include <string>
#include <vector>

#include "partition/fuse/groups.h"

namespace tenon::partition {

class Stages {
 public:
  /// Runs the strategies in their order. `graph` outlives this. Error: there is no such strategy.
  Stages(const SizedGraph& graph, std::vector<std::string> strategies);

  const SizedGraph& graph() const { return states_.front().graph(); }
  const std::vector<std::string>& strategies() const { return strategies_; }
  /// After the last of them.
  const Groups& groups() const { return states_.back(); }

  /// Why the strategy at a position of the list did not join the groups of two operators when it ran: what holds of the
  /// groups that it found, or of those that it left where it became so while it ran.
  std::string refusal(size_t at, int producer, int reader) const;

 private:
  std::vector<std::string> strategies_;
  std::vector<Groups> states_;  // before any strategy, and after each
};

}  // namespace tenon::partition
