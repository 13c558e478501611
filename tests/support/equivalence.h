// Two graphs that must compute the same.
#pragma once

#include <gtest/gtest.h>

#include "tenon/array.h"
#include "tenon/graph.h"

namespace tenon {

/// Run both on the same random inputs at several bindings (sizes 0, 1 and larger, as far as the constraints of `before`
/// allow) and compare every output within `relative` and `absolute` error; integers exactly. Fails when no binding
/// fits.
testing::AssertionResult equivalent(const Graph& before, const Graph& after, double relative = 1e-5,
                                    double absolute = 1e-6);

/// Bindings of all names of the inputs that satisfy the graph's constraints, up to `count` of them.
std::vector<Bindings> sample_bindings(const Graph& graph, size_t count);

/// Random inputs for the graph at a binding; integers are small and not negative, so that they can be positions.
std::vector<Array> random_inputs(const Graph& graph, const Bindings& bindings, uint64_t seed);

}  // namespace tenon
