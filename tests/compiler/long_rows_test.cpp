// Rows that do not fit into scratch memory are computed again instead of kept.
#include <gtest/gtest.h>

#include "support/arrays.h"
#include "tenon/compile.h"
#include "tenon/interpreter.h"
#include "tenon/nn.h"

namespace tenon {
namespace {

TEST(LongRows, SoftmaxAndNormsEqualTheInterpreter) {
  const Value x = input("x", shape(f32, "row", "col"));
  const Value hidden = tanh(x);
  const Graph graph({x}, {{"softmax", softmax(x)}, {"norm", layer_norm(hidden)}});
  std::mt19937_64 rng(5);
  for (const bool native : {true, false}) {
    const Executable executable = compile(graph, {.native = native, .disk_cache = false});
    for (const int64_t columns : {7, 1000, 150'000}) {  // 600 KB a row
      const Array rows = random_array(f32, {2, columns}, rng);
      const std::vector<Array> expected = interpret(graph, {rows});
      const std::vector<Array> actual = executable.run({rows});
      EXPECT_TRUE(close(actual[0], expected[0], 1e-4, 1e-9)) << columns;
      EXPECT_TRUE(close(actual[1], expected[1], 1e-4, 1e-5)) << columns;
    }
  }
}

}  // namespace
}  // namespace tenon
