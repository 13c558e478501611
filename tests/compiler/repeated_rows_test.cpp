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

}  // namespace
}  // namespace tenon::repeated_rows_test
