// Rows that feed a product and something else in the same kernel: each nest of loops computes its own.
#include <gtest/gtest.h>

#include "support/compiled.h"
#include "tenon/tenon.h"

namespace tenon::product_rows_test {
namespace {

TEST(ProductRows, AreNotReadByAnotherNest) {
  const Value x = input("x", shape(f32, 255, "n"));
  const Value b = input("b", shape(f32, "n", 9));
  const Value s = softmax(x);
  const Value z = s - reduce_sum(s * s, {1}, true);
  const Graph graph({x, b}, {{"a", matmul(z * 3.0, b)}, {"d", reduce_max(z, {1})}});
  EXPECT_TRUE(compiled_matches(graph, {.compile = {.disk_cache = false}}));
  EXPECT_TRUE(compiled_matches(graph, {.compile = {.native = false}}));
}

}  // namespace
}  // namespace tenon::product_rows_test
