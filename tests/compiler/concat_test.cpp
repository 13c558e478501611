// A concat of what kernels make is placement: each kernel writes its part.
#include <gtest/gtest.h>

#include "support/compiled.h"
#include "tenon/nn.h"
#include "tenon/ops.h"

namespace tenon::concat_test {
namespace {

Graph two_products(bool also_read) {
  const Value x = input("x", shape(f32, "row", 8));
  const Value a = input("a", shape(f32, 8, "m"));
  const Value b = input("b", shape(f32, 8, 5));
  const Value w = input("w", shape(f32, "n", 3));
  const Value left = relu(matmul(x, a));
  const Value both = concat({left, matmul(x, b)}, 1);
  Value y = reduce_max(both, {0});
  if (also_read) {
    y = y + concat({reduce_sum(left, {0}), reduce_sum(matmul(x, b), {0})}, 0);
  }
  return {{x, a, b, w}, {{"both", both}, {"y", y}}};
}

TEST(CompiledConcat, OfProductsIsPlacement) {
  const Graph graph = two_products(false);
  const Executable executable = compile(graph, {.disk_cache = false});
  EXPECT_EQ(executable.steps().size(), 3U) << executable.explain();  // two products, one maximum
  EXPECT_TRUE(compiled_matches(graph, {.compile = {.disk_cache = false}}));
}

TEST(CompiledConcat, OfWhatOthersReadTooIsAKernel) {
  EXPECT_TRUE(compiled_matches(two_products(true), {.compile = {.disk_cache = false}}));
}

TEST(CompiledConcat, AlongTheFirstAxisAndOfThree) {
  const Value x = input("x", shape(f32, "row", "col"));
  const Value rows = softmax(x);
  const Value sums = reduce_sum(x, {1}, true) * x;
  const Graph graph({x}, {{"y", concat({rows, sums, softmax(x + 1.0)}, 0)}});
  EXPECT_TRUE(compiled_matches(graph, {.compile = {.disk_cache = false}}));
}

}  // namespace
}  // namespace tenon::concat_test
