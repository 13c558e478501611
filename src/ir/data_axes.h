// Axes whose sizes only data decide: which nodes bind them, and which nodes need names to be bound.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ir/node.h"

namespace tenon {

using AxisNames = std::set<std::string, std::less<>>;

/// The name that a node binds when it has run; empty for most nodes.
std::string bound_axis(const Node& node);

/// The names that must have sizes before the node can run: those of its operands, fields and results, and of its
/// bodies, but for the one that it binds.
AxisNames needed_axes(const Node& node);

/// The nodes of `nodes` that bind names, by name. Error for two that bind the same.
std::map<std::string, const Node*, std::less<>> binders(const std::vector<const Node*>& nodes);

/// The names that nodes of the graph bind.
AxisNames data_axes(const Graph& graph);
/// Whether a constraint is about one of the names.
bool mentions_any(const Constraint& constraint, const AxisNames& names);

/// The nodes, which come operands before users, with what binds a name before what needs it as well; the same list
/// where nothing binds one. Error when the size of an axis depends on itself.
std::vector<const Node*> order_by_binding(std::vector<const Node*> nodes);

}  // namespace tenon
