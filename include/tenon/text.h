// Graphs as text: what dumps, tests and the command line read and write.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "tenon/graph.h"

namespace tenon {

// The form, which parse_graph(to_text(graph)) == graph holds for (constants too large to compare by content aside):
//
//   graph softmax(x0: f32[batch, seq]) {
//     %0: f32[batch] = reduce(x0, op=max, axes=[1])
//     ...
//     return y=%4
//   }
//   graph main(x: f32[batch, 512], w: f32[512, 10], state: f32[batch, 10]) {
//     %0: f32[batch, 10] = contract(x, w, lhs_contract=[1], rhs_contract=[0]) @"/layers.0/MatMul"
//     %1: f32[batch, 10] = call(%0, body=softmax)
//     %2, %3: f32[batch, 10], f32[batch, 10] = barrier(%1, %0)
//     where batch multiple of 8
//     return y=%2, new_state=%3 aliases state
//   }
//
// A statement names the values of one operation, optionally with their types, which are checked. A name that is no
// identifier stands in backticks; `#` starts a comment; a statement ends with its line. `@"..."` is the node's Place.
//
// There are two ways to write a statement:
//   %0 = transpose(x, axes=[0, 1])   makes exactly this node; it is what the printer writes
//   y = div(exp(transpose(x)), 2)    is what the C++ builders of these names give: numbers and other shapes broadcast,
//                                    negative axes count from the end, what changes nothing makes no node
// In both, operands may be operations, and attributes follow the operands, by name or in order. A list of operands is
// written `concat(a, b, axis=0)` or `concat([a, b], axis=0)`; `none` is an attribute that is left out.
//
// `graph softmax.1 as softmax(...)` is a graph called `softmax` that the text calls `softmax.1`, beside another of that
// name. `names unify` at the start lets two different axis names that meet be equal, with a check when bound; the
// printer writes it when a node needs it. Graphs stand before their callers. The graphs of a text are those that no
// other graph of it calls, and those marked `entry graph`.

struct PrintOptions {
  /// Longer constants are printed as `f32[1000] {...}`, which no parser can read back. One element is always printed.
  int64_t max_constant_elements = std::numeric_limits<int64_t>::max();
  bool types = true;   ///< after the names that a statement defines
  bool places = true;  ///< after the operation
};

/// The graph after all that it calls, each once.
std::string to_text(const Graph& graph, const PrintOptions& options = {});
/// All graphs, and what they call, each once. Callees come before their callers, otherwise the order is the set's.
std::string to_text(const GraphSet& set, const PrintOptions& options = {});

/// Errors begin with line and column, show the line with a mark under the place, and suggest what a mistyped name may
/// have meant:
///   2:7: there is no operation called `expp`; did you mean `exp`?
///       z = expp(x)
///           ^
/// Never crashes, whatever the text.
GraphSet parse_graphs(std::string_view text);
/// The last graph of the text.
Graph parse_graph(std::string_view text);

}  // namespace tenon
