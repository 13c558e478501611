// Composites become the operations they are made of.
#pragma once

#include "tenon/graph.h"

namespace tenon::passes {

/// Replace every call by its body, calls inside bodies included.
///   before: call(x, body=softmax)        after: div(exp(sub(x, ...)), ...)
Graph inline_calls(Graph graph);

/// The same but for calls that a routine computes.
Graph inline_composites(Graph graph);

}  // namespace tenon::passes
