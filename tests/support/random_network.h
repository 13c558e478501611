// Random networks of convolutions, for tests of what happens to images between kernels.
#pragma once

#include <cstdint>

#include "tenon/graph.h"

namespace tenon {

/// A few layers, one behind the other, with all that models put between convolutions: a function of the seed alone.
/// Weights are constants. Any size of the names is allowed, 0 and 1 too.
Graph random_network(uint64_t seed);

}  // namespace tenon
