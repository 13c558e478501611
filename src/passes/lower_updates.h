// Writes through views that no index map follows backwards.
#pragma once

#include "tenon/graph.h"

namespace tenon::passes {

/// An update whose path has a step, a reshape or a flip becomes the values spread to where they go, and a choice
/// between them and the base. A base of one number needs no choice: it is what the values are spread in.
///   before: update(x, v, path=[flip(axes=[0])])                  after: flip(v)
///   before: update(0, v, path=[slice(step=[2])])                 after: pad(v with a 0 behind each element)
/// Paths of transposes and slices without steps stay: they are loops as they are.
Graph lower_updates(Graph graph);

}  // namespace tenon::passes
