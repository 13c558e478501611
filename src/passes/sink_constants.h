// Constants inside of bodies.
#pragma once

#include "tenon/graph.h"

namespace tenon::passes {

/// A constant that a loop hands to every trip, or a conditional to its branches, becomes a constant of the body: passes
/// see it there, and products take it packed.
///   before: loop(x, 2, body=f(i, x, y) -> mul(x, y))        after: loop(x, body=f(i, x) -> mul(x, 2))
Graph sink_constants(Graph graph);

}  // namespace tenon::passes
