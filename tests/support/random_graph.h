// Random graphs for tests that hold one evaluator against another.
#pragma once

#include <cstdint>
#include <vector>

#include "tenon/array.h"
#include "tenon/graph.h"

namespace tenon {

/// How far a right answer may be from the interpreter's: within absolute + relative * |expected|.
struct Tolerance {
  double absolute = 0;
  double relative = 0;
};

struct RandomGraph {
  Graph graph;
  std::vector<Tolerance> tolerances;  // one for each output
  bool special = false;               // inputs hold a NaN or an infinity here and there
};

/// A small graph over named and static axes, a function of the seed alone. Every kind with a meaning of its own may be
/// in it, in every dtype. Rounding is never amplified: what jumps (floor, comparisons, casts to integers, argmax) is
/// applied to exact values alone, and bounds of values and of their errors are followed, from which the tolerances
/// come.
RandomGraph random_graph(uint64_t seed);

/// Bindings of all names of the graph whose arrays stay small: `count` of them, with sizes 0, 1 and around the widths
/// of vectors. At most one breaks a constraint of the graph.
std::vector<Bindings> random_bindings(const Graph& graph, uint64_t seed, size_t count);

/// Arrays for the inputs at a binding, tame but for what `special` says.
std::vector<Array> random_graph_inputs(const RandomGraph& random, const Bindings& bindings, uint64_t seed);

}  // namespace tenon
