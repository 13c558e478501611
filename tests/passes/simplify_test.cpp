// Simplification changes no bit: NaN, infinities, signed zeros and the smallest numbers included.
#include "passes/simplify.h"

#include <cmath>
#include <limits>

#include "ir/node.h"
#include "support/arrays.h"
#include "tenon/interpreter.h"
#include "tenon/ops.h"

namespace tenon::passes::simplify_test {
namespace {

/// Numbers on which careless algebra shows.
Array special_numbers(Dtype dtype) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kTiny = 5.9604644775390625e-08;  // the smallest f16
  const std::vector<double> numbers{0.0,   -0.0, 1.0,    -1.0,   kInfinity, -kInfinity,
                                    kTiny, 3.25, -65504, 1.0e-3, 127.0,     std::numeric_limits<double>::quiet_NaN()};
  return Array::from<double>({static_cast<int64_t>(numbers.size())}, numbers).cast(dtype);
}

/// Equal to the bit, but for the bits of NaN.
testing::AssertionResult same_numbers(const Array& actual, const Array& expected) {
  for (int64_t i = 0; i < expected.size(); ++i) {
    const double a = actual.at(i);
    const double b = expected.at(i);
    if (std::isnan(a) != std::isnan(b) || (!std::isnan(a) && (a != b || std::signbit(a) != std::signbit(b)))) {
      return testing::AssertionFailure() << actual.to_string() << " against " << expected.to_string();
    }
  }
  return testing::AssertionSuccess();
}

size_t map_count(const Graph& graph) {
  size_t count = 0;
  for (const Node* node : graph.nodes()) {
    count += node->as<Map>() != nullptr ? 1U : 0U;
  }
  return count;
}

TEST(Simplify, KeepsEveryNumber) {
  for (const Dtype dtype : {f32, f64, f16, bf16}) {
    const Value x = input("x", shape(dtype, "n"));
    const Value y = input("y", shape(dtype, "n"));
    const Array numbers = special_numbers(dtype);
    std::vector<Array> arrays{numbers, Array(dtype, numbers.dims())};
    const auto bytes = numbers.byte_count() / static_cast<size_t>(numbers.size());
    for (size_t at = 0; at < numbers.byte_count(); ++at) {
      arrays[1].mutable_data()[at] = numbers.data()[(at + 5 * bytes) % numbers.byte_count()];
    }
    for (const Value& z :
         {x + -0.0, -0.0 + x, x - 0.0, x * 1.0, x / 1.0, pow(x, 1.0), neg(neg(x)), abs(neg(x)), abs(abs(x)), max(x, x),
          x + neg(y), neg(x) + y, x - neg(y), x / 8.0, x / -0.25, relu(relu(x)), pow(x, 2.0)}) {
      const Graph before({x, y}, {{"z", z}});
      const Graph after = simplify(before);
      EXPECT_NE(before, after);
      EXPECT_LE(map_count(after), map_count(before));
      EXPECT_TRUE(same_numbers(interpret(after, arrays)[0], interpret(before, arrays)[0]));
    }
  }
}

TEST(Simplify, LeavesWhatDiffersForSomeNumber) {
  const Value x = input("x", shape(f32, "n"));
  for (const Value& z : {x + 0.0, x - -0.0, 0.0 - x, x * 0.0, x - x, x / x, x / 3.0, pow(x, 0.5), reduce_sum(x, {0}),
                         cast(cast(x, f16), f32), cast(cast(x, i32), f32)}) {
    const Graph before({x}, {{"z", z}});
    EXPECT_EQ(before, simplify(before));
  }
}

TEST(Simplify, CastsThatLoseNothingAreNone) {
  const auto goes = [](Dtype narrow, Dtype wide) {
    const Value x = input("x", shape(narrow, "n"));
    return simplify(Graph({x}, {{"z", cast(cast(x, wide), narrow)}})).outputs()[0].value == x;
  };
  EXPECT_TRUE(goes(f16, f32) && goes(bf16, f32) && goes(f32, f64) && goes(i8, f16) && goes(u8, bf16) && goes(i16, f32));
  EXPECT_TRUE(goes(i32, f64) && goes(i8, i64) && goes(u8, i16) && goes(boolean, i8) && goes(boolean, f16));
  EXPECT_FALSE(goes(f16, bf16) || goes(bf16, f16) || goes(i32, f32) || goes(i64, f64) || goes(u16, f16));
  EXPECT_FALSE(goes(i8, u16) || goes(f32, i64) || goes(u8, i8) || goes(i8, boolean));
}

TEST(Simplify, LongChainsOfViewsCollapse) {
  const Value x = input("x", shape(f32, "a", "b", 6));
  Value y = x;
  for (int i = 0; i < 300; ++i) {
    y = transpose(y, {1, 2, 0});
  }
  EXPECT_EQ(simplify(Graph({x}, {{"y", y}})).outputs()[0].value, x);
}

}  // namespace
}  // namespace tenon::passes::simplify_test
