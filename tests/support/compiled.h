// Compiled graphs held against the interpreter.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "tenon/compile.h"

namespace tenon {

struct CompiledCheck {
  CompileOptions compile = {};
  size_t bindings = 5;  // how many to try; sizes 0 and 1 among them where the graph allows it
  double relative = 2e-5;
  double absolute = 1e-5;
  double of_largest = 0;          // of the largest number of an output: what cancels in its sums is not lost
  std::vector<Bindings> at = {};  // in the place of such bindings
  std::function<std::vector<Array>(const Graph& graph, const Bindings& bindings)> inputs =
      {};  // random where not given
};

/// Compile once and run at several bindings, on random inputs, with one thread and with two: every output must be what
/// the interpreter gives, and the same bits for any number of threads.
testing::AssertionResult compiled_matches(const Graph& graph, const CompiledCheck& check = {});

/// The same for machine code, machine code without fusion, and the loop interpreter, which also streams all rows;
/// `compile` is not looked at.
testing::AssertionResult matches_every_way(const Graph& graph, const CompiledCheck& check = {});

/// Runs with one, two and seven threads give the same bits.
testing::AssertionResult same_for_any_threads(const Executable& executable, const std::vector<Array>& inputs);

}  // namespace tenon
