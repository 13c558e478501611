// Graphs of thousands of operations, cut into kernels of a bounded size.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "support/arrays.h"
#include "tenon/compile.h"
#include "tenon/interpreter.h"
#include "tenon/ops.h"

namespace tenon::long_graphs_test {
namespace {

/// Each operation reads the one before it and one of the ten before that.
TEST(LongGraphs, AreCutIntoKernelsAndEqualTheInterpreter) {
  const Value x = input("x", shape(f32, "n"));
  std::mt19937_64 rng(3);
  std::vector<Value> values{x};
  for (int i = 0; i < 3000; ++i) {
    const Value& last = values.back();
    const Value& other = values[values.size() - 1 - rng() % std::min<size_t>(values.size(), 10)];
    values.push_back(rng() % 2 == 0 ? max(last, other * 0.5) - 0.25 : min(last + 0.125, other));
  }
  const Graph graph({x}, {{"y", values.back()}});
  const Executable executable = compile(graph, {.native = false});
  EXPECT_GE(executable.kernel_count(), 3000 / 128);
  EXPECT_LE(executable.kernel_count(), 3000 / 16);
  const Array numbers = random_array(f32, {19}, rng);
  EXPECT_TRUE(same(executable.run({numbers})[0], interpret(graph, {numbers})[0]));
}

}  // namespace
}  // namespace tenon::long_graphs_test
