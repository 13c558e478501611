// Rows divided by one number each have the bits of a division, wherever the quotient lies.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "support/arrays.h"
#include "tenon/compile.h"
#include "tenon/interpreter.h"
#include "tenon/tenon.h"

namespace tenon::division_test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Executable rows_by_one() {
  const Value x = input("x", shape(f32, "row", "col"));
  const Value by = input("by", shape(f32, "row", 1));
  return compile(Graph({x, by}, {{.name = "y", .value = x / by}}), {.disk_cache = false});
}

void expect_quotients(const Executable& executable, const std::vector<float>& numerators,
                      const std::vector<float>& divisors) {
  const auto rows = static_cast<int64_t>(divisors.size());
  const auto columns = static_cast<int64_t>(numerators.size());
  std::vector<float> x;
  for (int64_t row = 0; row < rows; ++row) {
    x.insert(x.end(), numerators.begin(), numerators.end());
  }
  const Array y = executable.run({Array::from<float>({rows, columns}, x), Array::from<float>({rows, 1}, divisors)})[0];
  const auto values = y.values<float>();
  size_t wrong = 0;
  for (size_t row = 0; row < divisors.size(); ++row) {
    for (size_t column = 0; column < numerators.size(); ++column) {
      const float expected = numerators[column] / divisors[row];
      const float given = values[row * numerators.size() + column];
      const bool same = std::isnan(expected) ? std::isnan(given)
                                             : std::bit_cast<uint32_t>(expected) == std::bit_cast<uint32_t>(given);
      if (!same && ++wrong < 10) {
        ADD_FAILURE() << numerators[column] << " / " << divisors[row] << " gave " << given << " for " << expected;
      }
    }
  }
  EXPECT_EQ(wrong, 0u);
}

/// Any words at all: every exponent, subnormal numbers, infinities, NaN.
std::vector<float> any_floats(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> floats;
  for (size_t i = 0; i < count; ++i) {
    floats.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
  }
  return floats;
}

/// Mantissas at the ends of their range, where roundings fall hardest, with exponents of `low` to `high`.
std::vector<float> hard_floats(size_t count, int low, int high, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> floats;
  for (size_t i = 0; i < count; ++i) {
    const auto few = static_cast<uint32_t>(random() % 64);
    const uint32_t mantissa = random() % 3 == 0   ? few
                              : random() % 2 == 0 ? 0x7fffff - few
                                                  : static_cast<uint32_t>(random()) & 0x7fffff;
    const auto exponent =
        static_cast<uint32_t>(127 + low + static_cast<int>(random() % static_cast<uint32_t>(high - low + 1)));
    floats.push_back(std::bit_cast<float>((static_cast<uint32_t>(random()) & 0x80000000u) | exponent << 23 | mantissa));
  }
  return floats;
}

TEST(Division, OfAnythingByAnything) { expect_quotients(rows_by_one(), any_floats(1009, 1), any_floats(2000, 2)); }

TEST(Division, WithinReach) {
  expect_quotients(rows_by_one(), hard_floats(1009, -10, 10, 3), hard_floats(3000, -5, 5, 4));
}

TEST(Division, AroundTheEndsOfReach) {
  const Executable executable = rows_by_one();
  expect_quotients(executable, hard_floats(517, -104, -98, 5), hard_floats(500, -22, 22, 6));
  expect_quotients(executable, hard_floats(517, 97, 103, 7), hard_floats(500, -22, 22, 8));
  expect_quotients(executable, hard_floats(517, -126, 127, 9), hard_floats(500, -22, -18, 10));
  expect_quotients(executable, hard_floats(517, -126, 127, 11), hard_floats(500, 18, 22, 12));
}

TEST(Division, OfZerosInfinitiesAndNan) {
  const std::vector<float> special{0.0f,   -0.0f,     1.0f,       -1.0f, 1e-45f, -1e-45f, 1e-38f, -1e-38f, 3e38f,
                                   -3e38f, kInfinity, -kInfinity, kNan,  3.0f,   5e-31f,  7e-32f, 0.1f};
  expect_quotients(rows_by_one(), special, special);
}

/// Positions of a few lanes are constants of the code: what those divide by, or have divided, is the same as elsewhere.
TEST(Division, OfPositionsIsThatOfIntegers) {
  for (const Dtype dtype : {Dtype::u8, Dtype::i8, Dtype::u16, Dtype::i16, Dtype::u32, Dtype::i32, Dtype::i64}) {
    for (const int64_t columns : {6, 8, 40}) {
      const Value x = iota(shape(dtype, "row", columns), 1, -2, 2);
      const Value rows = input("rows", shape(f32, "row"));
      const Graph graph({rows}, {{.name = "itself", .value = x / x},
                                 {.name = "more", .value = (x + 8) / x},
                                 {.name = "rest", .value = mod(x + 9, x)},
                                 {.name = "fewer", .value = x / scalar(dtype, 3)}});
      const std::vector<Array> expected = interpret(graph, {Array(f32, {3})});
      const std::vector<Array> actual = compile(graph, {.disk_cache = false}).run({Array(f32, {3})});
      for (size_t i = 0; i < expected.size(); ++i) {
        EXPECT_TRUE(close(actual[i], expected[i], 0, 0)) << graph.outputs()[i].name << " of " << name(dtype);
      }
    }
  }
}

}  // namespace
}  // namespace tenon::division_test
