// Sizes from some of the inputs of a graph.
#pragma once

#include <span>

#include "tenon/array.h"
#include "tenon/bindings.h"
#include "tenon/graph.h"

namespace tenon::mesh {

/// The names that these whole inputs and `known` bind, with those that the graph's constraints imply. One for each
/// input of the graph, null where it is not there. Error: dtype, rank or sizes of an input, a constraint.
Bindings bind_given(const Graph& graph, std::span<const Array* const> inputs, const Bindings& known = {});

}  // namespace tenon::mesh
