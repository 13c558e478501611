// Gradients against differences: for any graph, without knowing what it computes.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "tenon/array.h"
#include "tenon/bindings.h"
#include "tenon/graph.h"

namespace tenon {

struct DifferenceOptions {
  double step = 1e-3;       // differences are of fourth order, so this may be wide
  double tolerance = 1e-7;  // relative to the larger of 1 and the derivative
  int64_t elements = 24;   // inputs of up to so many elements are compared one by one, larger ones in random directions
  Bindings bindings = {};  // of names that no input shows
};

/// The gradients of the sum of all float outputs, each weighted by random numbers, by every float input, against
/// differences. Float inputs must be f64 and away from kinks by more than twice the step.
testing::AssertionResult gradients_match(const Graph& graph, const std::vector<Array>& inputs,
                                         const DifferenceOptions& options = {});

/// The graph of those gradients: takes the inputs of `graph` and a weight `w_<output>` for each float output, gives the
/// gradients. Differences of it check second derivatives.
Graph gradient_graph(const Graph& graph);

/// Random f64 (or integer, 0 to 2) arrays for the inputs of `graph`. Floats of one array differ by at least 0.03 where
/// `low` to `high` has room for that: extrema stay what they are while differences are taken.
std::vector<Array> spaced_inputs(const Graph& graph, const Bindings& bindings, uint64_t seed, double low = -2,
                                 double high = 2);

/// A graph to be differentiated, as a row of a table. Its inputs are `a`, `b`, ..., its outputs `y0`, `y1`, ...
struct GradientCase {
  std::string name;
  std::vector<Shape> inputs;
  std::function<std::vector<Value>(const std::vector<Value>&)> build;
  std::vector<Bindings> bindings = {{}};
  double low = -2;  // of the random inputs
  double high = 2;

  Graph graph() const;
  /// The name as GoogleTest allows it.
  std::string test_name() const;
  friend void PrintTo(const GradientCase& each, std::ostream* out) { *out << each.name; }
};

/// First derivatives at every binding of the case.
void expect_first_derivatives(const GradientCase& each);
/// Derivatives of the derivatives, at one binding.
void expect_second_derivatives(const GradientCase& each);

}  // namespace tenon
