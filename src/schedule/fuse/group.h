// Which operations share a kernel.
#pragma once

#include <string>
#include <vector>

#include "schedule/fuse/roles.h"
#include "schedule/fuse/state_updates.h"
#include "schedule/options/schedule_options.h"

namespace tenon::schedule {

/// The kernel that takes the place of another where rows are long.
struct LongRows {
  Nest nest;
  Extent row_bytes;  // what the other one keeps in scratch or reads again, in an iteration of the grid, weighted
};

/// Operations that become one loop kernel.
struct Group {
  std::vector<const Node*> nodes;  // operands before users; cheap operations may be in several groups
  std::vector<Value> outputs;      // what it stores
  std::string boundary;            // why it is no larger
  Nest nest;
  std::optional<LongRows> long_rows;  // where there may be some
};

/// Something that runs: a kernel, made of groups side by side, or an operation that has no loop form.
struct GroupedStep {
  std::vector<Group> groups;
  const Node* alone = nullptr;
  std::string boundary;
};

/// The steps of a graph without calls, producers first, and readers of what is updated in place before the update.
std::vector<GroupedStep> group(const Graph& graph, const Roles& roles, MapPrograms& programs,
                               const ScheduleOptions& options, const StateUpdates& state);

}  // namespace tenon::schedule
