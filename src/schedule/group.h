// Which operations share a kernel.
#pragma once

#include <string>
#include <vector>

#include "schedule/roles.h"

namespace tenon {

/// Operations that become one loop kernel.
struct Group {
  std::vector<const Node*> nodes;  // operands before users; cheap operations may be in several groups
  std::vector<Value> outputs;      // what it stores
  std::string boundary;            // why it is no larger
  Nest nest;
  std::optional<Nest> long_rows;  // the same without scratch, where that may be too large
};

/// Something that runs: a kernel, made of groups side by side, or an operation that has no loop form.
struct GroupedStep {
  std::vector<Group> groups;
  const Node* alone = nullptr;
  std::string boundary;
};

struct GroupOptions {
  bool fuse = true;   // off: every operation is a kernel of its own
  int64_t panel = 0;  // NestRequest::panel
};

/// The steps of a graph without calls, producers first.
std::vector<GroupedStep> group(const Graph& graph, const Roles& roles, MapPrograms& programs,
                               const GroupOptions& options = {});

}  // namespace tenon
