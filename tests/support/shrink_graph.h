// Making a graph that shows a failure smaller.
#pragma once

#include <functional>

#include "support/random_graph.h"

namespace tenon {

/// A graph of few operations for which `fails` still holds: fewer outputs, then inputs in place of what need not be
/// computed.
RandomGraph shrunk(const RandomGraph& random, const std::function<bool(const RandomGraph&)>& fails);

}  // namespace tenon
