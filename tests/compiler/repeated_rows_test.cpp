// Rows that are copies of each other, as Tile makes them, under what is dear to compute: it is kept for later loops.
#include <gtest/gtest.h>

#include <random>

#include "support/arrays.h"
#include "tenon/compile.h"
#include "tenon/interpreter.h"
#include "tenon/nn.h"
#include "tenon/ops.h"

namespace tenon::repeated_rows_test {
namespace {

/// `copies` of x one after the other.
Value tiled(const Value& x, const Axis& copies) {
  const Value all = broadcast(x, {copies, x.shape().axis(0)}, {1});
  return reshape(all, {all.extent(0) * all.extent(1)});
}

TEST(RepeatedRows, AreReducedAsOne) {
  const Value x = input("x", shape(f32, "n"));
  const Value row = tiled(x, 3);
  const Graph graph({x}, {{"softmax", softmax(exp(row), 0)},
                          {"logsumexp", logsumexp(mish(row), {0})},
                          {"norm", layer_norm(gelu(row), {}, {}, {0})}});
  const Executable executable = compile(graph);
  std::mt19937_64 rng(1);
  for (const int64_t n : {0, 1, 2, 3, 15, 17, 5000}) {
    const Array values = random_array(f32, {n}, rng, -1, 1);
    const std::vector<Array> expected = interpret(graph, {values});
    const std::vector<Array> actual = executable.run({values});
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(close(actual[i], expected[i], 1e-5, 1e-5)) << graph.outputs()[i].name << " at " << n;
    }
  }
}

/// Rows that hold copies side by side, and copies of rows around what is reduced of them.
TEST(RepeatedRows, AreKeptForLaterLoopsOfAllCopies) {
  const Value x = input("x", shape(f32, "row", "col"));
  const Axis row = x.shape().axis(0);
  const Value beside = reshape(broadcast(x, {row, 2, x.shape().axis(1)}, {0, 2}), {row, x.extent(1) * 2});
  const Value around = broadcast(log_softmax(x, 1), {2, row, x.shape().axis(1)}, {1, 2});
  const Graph graph({x}, {{"beside", softmax(exp(beside), 1)},
                          {"around", around - reduce_sum(around, {0, 2}, true) / reduce_max(x)}});
  const Executable executable = compile(graph);
  std::mt19937_64 rng(1);
  for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{{0, 3}, {1, 1}, {6, 4}, {3, 700}}) {
    const Array values = random_array(f32, sizes, rng, -1, 1);
    const std::vector<Array> expected = interpret(graph, {values});
    const std::vector<Array> actual = executable.run({values});
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(close(actual[i], expected[i], 1e-5, 1e-5)) << graph.outputs()[i].name << " at " << sizes[0];
    }
  }
}

}  // namespace
}  // namespace tenon::repeated_rows_test
