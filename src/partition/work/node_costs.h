// What one node of a graph costs, as extents.
#pragma once

#include "ir/node.h"
#include "tenon/partition.h"

namespace tenon::partition {

/// Multiply-accumulates of a node, those of its bodies included.
Extent macs_of(const Node& node);
/// Arithmetic, counted in additions: an exponential is several.
Extent flops_of(const Node& node);
Role role_of(const Node& node);
Extent bytes_of(const Shape& shape);

/// Results that can be computed independently of each other.
Extent parallelism_of(const Node& node, Role role);
/// Bytes of the smallest piece of work: one result and all that it is made of. 0: nothing less than all.
Extent least_bytes_of(const Node& node, Role role);

/// Reshape, broadcast, slice: the same memory, or less of it, seen otherwise.
bool is_free_view(const Node& node);

/// Equal for nodes that look alike whatever their sizes: the operation, how many operands it has, and of a convolution
/// whether it sees neighbours and mixes channels.
uint64_t structure_of(const Node& node);

}  // namespace tenon::partition
