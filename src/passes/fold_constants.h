// What is known when the graph is made is computed once.
#pragma once

#include <optional>
#include <vector>

#include "ir/node.h"

namespace tenon::passes {

/// Evaluate operations on constants, by the interpreter.
///   before: mul(x, add({1, 2}, {3, 4}))        after: mul(x, {4, 6})
///   before: exp(broadcast(0, [n]))             after: broadcast(1, [n])
///   before: exp(broadcast({1, 2}, [n, 2]))     after: broadcast({2.7, 7.4}, [n, 2])
///   before: if(true, x, then_body=f, ...)      after: f(x)
/// An operation stays when its sizes are not known, when evaluating it would be an error (that is for run time), when
/// its result is much larger than the constants it is made of and cheap to compute wherever it is read, when evaluating
/// it would take long, and when it is large: beyond 16 MiB, and 64 MiB of all that are dear
/// (rewriting/dear_constants.h).
Graph fold_constants(Graph graph);

/// What one node on these operands becomes; nothing when it stays.
std::optional<std::vector<Value>> fold_constant_node(const Node& node, const std::vector<Value>& operands);

}  // namespace tenon::passes
