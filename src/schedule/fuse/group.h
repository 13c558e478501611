// Which operations share a kernel.
#pragma once

#include <string>
#include <vector>

#include "kernel/program/program.h"
#include "schedule/fuse/roles.h"
#include "schedule/products/product_tiles.h"

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

struct GroupOptions {
  bool fuse = true;                       // off: every operation is a kernel of its own
  bool layouts = true;                    // StorageOrders, else all lies row by row
  int64_t panel = 0;                      // NestRequest::panel
  ProductTiles tiles = product_tiles();   // NestRequest::tiles
  bool winograd = true;                   // NestRequest::winograd
  int64_t most_row_bytes = kMostScratch;  // Program::most_row_bytes
  int64_t least_shared_work = 300'000;    // Program::least_shared_work
};

/// The steps of a graph without calls, producers first.
std::vector<GroupedStep> group(const Graph& graph, const Roles& roles, MapPrograms& programs,
                               const GroupOptions& options = {});

}  // namespace tenon::schedule
