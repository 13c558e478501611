// Reductions, products, views and joins in every dtype, on small whole numbers that all of them hold exactly.
#include "support/arrays.h"
#include "tenon/interpreter.h"
#include "tenon/ops.h"

namespace tenon::dtypes_test {
namespace {

/// 0, 1, 2, 0, 1, 2, ... as `dtype`.
Array pattern(Dtype dtype, std::vector<int64_t> dims) {
  Array values(f64, std::move(dims));
  auto elements = values.mutable_values<double>();
  for (size_t i = 0; i < elements.size(); ++i) {
    elements[i] = static_cast<double>(i % 3);
  }
  return values.cast(dtype);
}

TEST(EveryDtype, ReductionsAndProducts) {
  for (const Dtype dtype : all_dtypes()) {
    if (dtype == boolean) {
      continue;
    }
    const Value x = input("x", shape(dtype, "n", "m"));
    const Graph graph({x}, {{"sum", reduce_sum(x, {1})},
                            {"product", reduce_product(x, {1})},
                            {"max", reduce_max(x, {1})},
                            {"min", reduce_min(x, {1})},
                            {"argmax", argmax(x, 1)},
                            {"gram", contract(x, x, {.lhs_contract = {1}, .rhs_contract = {1}})}});
    const auto out = interpret(graph, {pattern(dtype, {2, 4})});  // rows 0 1 2 0 and 1 2 0 1
    EXPECT_TRUE(same(out[0], Array::from<double>({2}, {3, 4}).cast(dtype))) << name(dtype);
    EXPECT_TRUE(same(out[1], Array::from<double>({2}, {0, 0}).cast(dtype))) << name(dtype);
    EXPECT_TRUE(same(out[2], Array::from<double>({2}, {2, 2}).cast(dtype))) << name(dtype);
    EXPECT_TRUE(same(out[3], Array::from<double>({2}, {0, 0}).cast(dtype))) << name(dtype);
    EXPECT_TRUE(same(out[4], Array::from<int64_t>({2}, {2, 1}))) << name(dtype);
    EXPECT_TRUE(same(out[5], Array::from<double>({2, 2}, {5, 2, 2, 6}).cast(dtype))) << name(dtype);
  }
}

TEST(EveryDtype, ViewsAndJoins) {
  for (const Dtype dtype : all_dtypes()) {
    const Value x = input("x", shape(dtype, "n", "m"));
    const Graph graph({x}, {{"moved", transpose(x)},
                            {"joined", concat({x, flip(x, {1})}, 0)},
                            {"padded", pad(x, {0, 1}, {0, 0}, "constant", 1)},
                            {"repeated", broadcast_to(slice_axis(x, 0, 0, Extent(1)), {3, "m"})}});
    const auto out = interpret(graph, {pattern(dtype, {2, 2})});  // 0 1, 2 0
    EXPECT_TRUE(same(out[0], Array::from<double>({2, 2}, {0, 2, 1, 0}).cast(dtype))) << name(dtype);
    EXPECT_TRUE(same(out[1], Array::from<double>({4, 2}, {0, 1, 2, 0, 1, 0, 0, 2}).cast(dtype))) << name(dtype);
    EXPECT_TRUE(same(out[2], Array::from<double>({2, 3}, {1, 0, 1, 1, 2, 0}).cast(dtype))) << name(dtype);
    EXPECT_TRUE(same(out[3], Array::from<double>({3, 2}, {0, 1, 0, 1, 0, 1}).cast(dtype))) << name(dtype);
  }
}

}  // namespace
}  // namespace tenon::dtypes_test
