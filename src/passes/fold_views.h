// Views move toward what is loaded.
#pragma once

#include "tenon/graph.h"

namespace tenon::passes {

/// Move transposes and reshapes through elementwise operations to their operands where views meet there and fewer are
/// left, and compute before repeating rather than after.
///   before: transpose(exp(transpose(x, [1, 0])), [1, 0])           after: exp(x)
///   before: reshape(add(reshape(x, [n*m]), y), [n, m])             after: add(x, reshape(y, [n, m]))
///   before: exp(broadcast(x, [n, m], axes=[0]))                    after: broadcast(exp(x), [n, m], axes=[0])
/// A view that meets nothing stays where it is: the scheduler reads through any chain of views. What another operation
/// reads too is not computed twice.
Graph fold_views(Graph graph);

}  // namespace tenon::passes
