// Graphs that need the size of an axis that data decide keep what decides it.
#pragma once

#include <vector>

#include "tenon/graph.h"

namespace tenon {

/// Values of outputs may need names (an iota as long as an axis) without needing the node that binds them. Ties those
/// of `made`, values of nodes that bind names, to the first output where a name is needed and not bound:
///   before: y = iota(i64[nonzero_1])        after: y, _ = barrier(iota(i64[nonzero_1]), positions(x, nonzero_1))
void keep_binders(std::vector<Output>& outputs, const std::vector<Constraint>& relations,
                  const std::vector<Value>& made);

}  // namespace tenon
