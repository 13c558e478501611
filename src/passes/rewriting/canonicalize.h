// Names that are known to be equal become one.
#pragma once

#include "passes/rewriting/rewrite.h"

namespace tenon::passes {

/// Rewrite axis names to what the graph's constraints say they are: the representative of names that must be equal, a
/// size, or an expression. Equal subgraphs that differed only in names merge.
///   before: a: f32[n], b: f32[m], c = add(a, b) under names that unify     after: b: f32[n]
///   before: h: f32[hidden], w: f32[hidden=768, 8]                          after: h: f32[hidden=768]
/// Nothing goes unchecked by this: the inputs now say it in their shapes.
Graph canonicalize(Graph graph);

/// The graph with axis names replaced everywhere; inputs are made anew under the same names.
Graph rename_axes(const Graph& graph, const Substitution& by);

}  // namespace tenon::passes
