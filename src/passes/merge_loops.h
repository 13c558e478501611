// Loops that carry the same values become one.
#pragma once

#include "tenon/graph.h"

namespace tenon::passes {

/// Join loops over the same operands, with as many trips, that carry the same values: one loop stacks what any of them
/// stacks. A derivative leaves such pairs: the loop itself, and the one that keeps what each trip found.
///   before: loop(x, body=f), loop(x, body=f that also stacks y)        after: loop(x, body=f that also stacks y)
Graph merge_loops(Graph graph);

}  // namespace tenon::passes
