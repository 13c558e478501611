// Which node is which over time: an address, and a hash, may come again after a node has died.
#pragma once

#include <cstdint>

#include "ir/node.h"

namespace tenon {

/// Nodes count in the order in which they were made; no two of a process have the same number.
uint64_t node_number(const Node& node);

}  // namespace tenon
