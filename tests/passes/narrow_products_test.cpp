// Products of rounded operands.
#include "passes/narrow_products.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "support/arrays.h"
#include "tenon/tenon.h"

namespace tenon::narrow_products_test {
namespace {

/// x * 1 summed over one step: what x is rounded to.
float rounded(float number, Precision precision, bool is_constant) {
  const Value one = input("one", shape(f32, 1, 1));
  const Array array = Array::from<float>({1, 1}, {number});
  const Value x = is_constant ? constant(array) : input("x", shape(f32, 1, 1));
  std::vector<Value> inputs{one};
  std::vector<Array> arrays{Array::full(f32, {1, 1}, 1)};
  if (!is_constant) {
    inputs.push_back(x);
    arrays.push_back(array);
  }
  const Graph graph(inputs, {{"y", matmul(x, one)}});
  return interpret(passes::narrow_products(graph, precision), arrays)[0].values<float>()[0];
}

TEST(NarrowProducts, RoundsOperandsToNearest) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const bool is_constant : {false, true}) {
    const auto tf32 = [&](float x) { return rounded(x, Precision::tf32, is_constant); };
    EXPECT_EQ(tf32(1 + 0x1p-10f), 1 + 0x1p-10f);
    EXPECT_EQ(tf32(1 + 0x1p-11f), 1) << "a tie goes to the even one";
    EXPECT_EQ(tf32(1 + 3 * 0x1p-11f), 1 + 0x1p-9f);
    EXPECT_EQ(tf32(-1 - 0x1p-11f - 0x1p-20f), -1 - 0x1p-10f);
    EXPECT_EQ(tf32(2 - 0x1p-20f), 2) << "and carries over";
    EXPECT_EQ(tf32(-infinity), -infinity);
    EXPECT_EQ(tf32(std::numeric_limits<float>::max()), infinity);
    EXPECT_TRUE(std::isnan(tf32(std::bit_cast<float>(0x7fffffff))));
    EXPECT_EQ(rounded(1 + 0x1p-8f, Precision::bf16, is_constant), 1);
    EXPECT_EQ(rounded(1 + 0x1p-7f, Precision::bf16, is_constant), 1 + 0x1p-7f);
    EXPECT_EQ(rounded(1 + 0x1p-11f, Precision::f16, is_constant), 1);
    EXPECT_EQ(rounded(1e5f, Precision::f16, is_constant), infinity);
    EXPECT_EQ(rounded(1e5f, Precision::f32, is_constant), 1e5f);
  }
}

/// Compiled code has the same roundings as the pass, and sums in f32.
TEST(NarrowProducts, AreCompiled) {
  const Value x = input("x", shape(f32, "m", 70));
  std::mt19937_64 random(3);
  const Graph graph({x}, {{"y", matmul(exp(x), constant(random_array(f32, {70, 40}, random)))}});
  for (const int64_t rows : {1, 7, 33}) {
    const Array data = random_array(f32, {rows, 70}, random);
    for (const Precision precision : {Precision::tf32, Precision::bf16, Precision::f16}) {
      const auto wanted = interpret(passes::narrow_products(graph, precision), {data});
      const auto got = compile(graph, {.precision = precision}).run({data});
      // A number of exp() next to a boundary may be rounded to the other side of it.
      const double tolerance = precision == Precision::bf16 ? 4e-3 : 5e-4;
      EXPECT_TRUE(close(got[0], wanted[0], tolerance, tolerance)) << name(precision) << ", " << rows << " rows";
      EXPECT_FALSE(close(got[0], interpret(graph, {data})[0], 1e-6, 1e-6)) << name(precision);
    }
  }
}

TEST(NarrowProducts, LeavesOtherTypesAlone) {
  const Value x = input("x", shape(f64, 3, 3));
  const Graph graph({x}, {{"y", matmul(x, x)}});
  EXPECT_EQ(passes::narrow_products(graph, Precision::bf16), graph);
}

}  // namespace
}  // namespace tenon::narrow_products_test
