// Graphs of a few statements, for tables of tests.
#pragma once

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/bindings.h"
#include "tenon/graph.h"

namespace tenon {

/// A row of a table: inputs and statements of a graph in text form, statements apart by `;`. Names that begin with `y`
/// are outputs. Inputs whose names begin with `w` are none: they are random constants, and have known sizes.
struct SmallGraph {
  std::string name;
  std::string inputs;
  std::string statements;
};
Graph make(const SmallGraph& text);
void PrintTo(const SmallGraph& text, std::ostream* out);

/// Sizes at which products take several tiles of rows (`m`, `s`), of columns (`n`), or blocks of `k`, for graphs whose
/// names are m, n, k, l, b, s, p, q, batch and seq at most.
std::vector<Bindings> beyond_a_tile(const Graph& graph);

/// The graph with random constants in the place of its inputs whose names begin with `prefix`.
Graph with_constants(const Graph& graph, std::string_view prefix);

}  // namespace tenon
