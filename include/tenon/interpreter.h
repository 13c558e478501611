// The interpreter: slow and obvious. It defines what a graph computes; everything faster is compared with it.
#pragma once

#include <vector>

#include "tenon/array.h"
#include "tenon/graph.h"

namespace tenon {

struct InterpretOptions {
  /// Sizes of names that no input shape determines.
  Bindings bindings = {};
  /// Evaluate every float in f64, without rounding to the graph's dtypes: the reference for error bounds. Float outputs
  /// are f64 then, and float inputs may be given as f64 too.
  bool reference = false;
};

/// Run `graph` on `inputs`, in the order of the graph's inputs; the results are in the order of its outputs.
/// Axis names are bound from the inputs' sizes and every constraint of the graph is checked first.
/// Errors: number, dtype, rank or sizes of inputs; an unbound name; a constraint; a position out of range.
std::vector<Array> interpret(const Graph& graph, const std::vector<Array>& inputs,
                             const InterpretOptions& options = {});

/// The names bound by these inputs and `known`, with those that the graph's constraints imply; constraints checked.
Bindings bind(const Graph& graph, const std::vector<Array>& inputs, const Bindings& known = {});

}  // namespace tenon
