// Derivatives in reverse mode: gradients of values, and of whole graphs.
#pragma once

#include <string>
#include <vector>

#include "tenon/graph.h"

namespace tenon {

/// The gradients of `y` by each of `xs`, in their shapes. `y` must be a float scalar; with a `seed` of y's shape it may
/// be any float, and the gradients are those of sum(y * seed). An x may be any float value that y is made from, not
/// only an input; one that y does not depend on gets zeros. What is not float (positions, comparisons) passes no
/// gradient on. Where several elements reach a maximum or a minimum, they share its gradient equally. Errors: an x that
/// is no float, named; an operation without a derivative that a gradient would have to flow through, with its place.
/// Gradients are ordinary values: taking gradients of them works.
std::vector<Value> gradients(const Value& y, const std::vector<Value>& xs, const Value& seed = {});

struct DifferentiateOptions {
  /// The name of the output to differentiate; empty: the first.
  std::string output = {};
  /// The names of the inputs to differentiate by; empty: all that are floats.
  std::vector<std::string> inputs = {};
  /// Keep the outputs that the graph has, before the gradients.
  bool keep_outputs = true;
  /// The gradient of the output is a further input `d_<output>`, the last; else the output must be a scalar.
  bool seed_input = false;
};

/// The graph with gradients as further outputs, `d_<input>` each.
///   before: in x: f32[n]  out y = reduce_sum(square(x))        after: out y, d_x = x * 2
Graph differentiate(const Graph& graph, const DifferentiateOptions& options = {});

}  // namespace tenon
