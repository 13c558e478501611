// From a body that uses values from outside to a graph that takes them as inputs.
#pragma once

#include <string>
#include <vector>

#include "tenon/graph.h"

namespace tenon {

/// What a body builder made: outputs from parameters, and from whatever else it had at hand.
struct OpenBody {
  std::string name;
  std::vector<Value> parameters;  // inputs; what is attached to one is left out of the graph
  std::vector<Value> outputs;
};

struct ClosedBodies {
  std::vector<Graph> graphs;    // each takes its own parameters, then one input for each capture
  std::vector<Value> captures;  // values outside, in the order in which the bodies first need them
};

/// Turn values from outside into inputs, the same ones for all bodies. A value is captured when it depends on no
/// parameter but on some input outside, and something that does depend on a parameter, or the list of outputs, uses
/// it: the frontier, so what a capture is computed from is not captured too. Constants stay inside.
///   before: y = add(parameter, exp(x)), x an input outside     after: y = add(parameter, capture0), captures =
///   {exp(x)}
ClosedBodies close_over(const std::vector<OpenBody>& bodies);

}  // namespace tenon
