// Random bits against published answers and a second implementation; distributions by their moments.
#include "tenon/random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernel/scalar/philox.h"
#include "support/arrays.h"
#include "tenon/interpreter.h"

namespace tenon::random_test {
namespace {

constexpr uint64_t kKey = 0x0123456789abcdef;
constexpr uint64_t kCounter = 0xfedcba9876543210;

Value word(uint64_t value) { return constant(Array::from<uint64_t>({}, {value})); }

Array draw(const Value& value) { return interpret(Graph(std::vector<Value>{}, {{"y", value}}), {})[0]; }

double mean(const Array& x) {
  double sum = 0;
  for (int64_t i = 0; i < x.size(); ++i) {
    sum += x.at(i);
  }
  return sum / static_cast<double>(x.size());
}

double moment(const Array& x, int power) {
  const double middle = mean(x);
  double sum = 0;
  for (int64_t i = 0; i < x.size(); ++i) {
    sum += std::pow(x.at(i) - middle, power);
  }
  return sum / static_cast<double>(x.size());
}

// The known answers that the generator's authors publish with it.
static_assert(philox4x32({0, 0, 0, 0}, {0, 0}) == PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
static_assert(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
              PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
static_assert(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
              PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});

TEST(Random, TheLayoutOfTheStreamIsAPromise) {
  // Computed by a separate program from the algorithm's definition and the layout that tenon/random.h states.
  const Array expected = Array::from<uint32_t>({10}, {0xaef2adf7, 0xf69b5950, 0x3ceb44f4, 0x89b6573a, 0xec2ab39f,
                                                      0x4671fd85, 0x74decae0, 0x4b77ec76, 0xd7bb4a2f, 0xb8f76c27});
  EXPECT_TRUE(same(draw(random_bits(word(kKey), word(kCounter), shape(u32, 10))), expected));
  EXPECT_TRUE(same(draw(random_bits(word(kKey), word(kCounter), shape(u32, 2, 5))), expected.reshaped({2, 5})));
  EXPECT_TRUE(same(draw(random_bits(word(kKey), word(kCounter), shape(u64, 2))),
                   Array::from<uint64_t>({2}, {0xf69b5950aef2adf7, 0x89b6573a3ceb44f4})));
}

TEST(Random, AShorterDrawBeginsALongerOne) {
  const Value key = input("key", shape(u64));
  const Value counter = input("counter", shape(u64));
  const Value like = input("like", shape(f32, "n"));
  const Graph graph({key, counter, like}, {{"bits", random_bits(key, counter, shape(u32, "n"))},
                                           {"wide", random_bits(key, counter, shape(u64, "n"))},
                                           {"uniform", uniform(key, counter, shape(f32, "n"), -2, 5)},
                                           {"normal", normal(key, counter, shape(f64, "n"))}});
  const auto run = [&](uint64_t k, uint64_t c, int64_t n) {
    return interpret(graph, {Array::from<uint64_t>({}, {k}), Array::from<uint64_t>({}, {c}), Array(f32, {n})});
  };
  const auto whole = run(3, 4, 100);
  for (const int64_t n : {0, 1, 7, 8, 9}) {
    const auto part = run(3, 4, n);
    for (size_t k = 0; k < part.size(); ++k) {
      for (int64_t i = 0; i < n; ++i) {
        ASSERT_EQ(part[k].at(i), whole[k].at(i));
      }
    }
  }
  for (const auto& other : {run(3, 5, 100), run(4, 4, 100), run(3 | 1ull << 40, 4, 100), run(3, 4 | 1ull << 40, 100)}) {
    int64_t equal = 0;
    for (int64_t i = 0; i < 100; ++i) {
      equal += other[0].at(i) == whole[0].at(i) ? 1 : 0;
    }
    EXPECT_LT(equal, 3);
  }
}

TEST(Random, UniformFillsTheIntervalAndNeverReachesItsEnd) {
  constexpr int64_t kCount = 40000;
  for (const Dtype dtype : {f16, bf16, f32, f64}) {
    for (const auto& [low, high] : std::vector<std::pair<double, double>>{{0, 1}, {1, 2}, {-3, -1}, {-2, 0}}) {
      const Array x = draw(uniform(word(1), word(2), shape(dtype, kCount), low, high));
      ASSERT_EQ(x.dtype(), dtype);
      for (int64_t i = 0; i < kCount; ++i) {
        ASSERT_GE(x.at(i), low) << name(dtype);
        ASSERT_LT(x.at(i), high) << name(dtype);
      }
      // Rounding down to a grid shifts by half a step at most.
      const double grid = dtype == bf16 ? 0x1p-8 : dtype == f16 ? 0x1p-11 : 0;
      EXPECT_NEAR(mean(x), (low + high) / 2, 0.02 + grid * (high - low)) << name(dtype);
      EXPECT_NEAR(moment(x, 2), (high - low) * (high - low) / 12, 0.02) << name(dtype);
    }
  }
  // Ten equal bins.
  const Array x = draw(uniform(word(9), word(9), shape(f64, kCount)));
  std::vector<double> bins(10);
  for (int64_t i = 0; i < kCount; ++i) {
    bins[static_cast<size_t>(x.at(i) * 10)] += 1;
  }
  double chi = 0;
  for (const double count : bins) {
    chi += (count - kCount / 10.0) * (count - kCount / 10.0) / (kCount / 10.0);
  }
  EXPECT_LT(chi, 27.9);  // one in a thousand at nine degrees of freedom
}

TEST(Random, UniformIsWhatTheBitsSay) {
  const Array bits = draw(random_bits(word(5), word(6), shape(u32, 100)));
  const Array single = draw(uniform(word(5), word(6), shape(f32, 100)));
  const Array half = draw(uniform(word(5), word(6), shape(f16, 100)));
  for (int64_t i = 0; i < 100; ++i) {
    ASSERT_EQ(single.at(i), std::floor(bits.at(i) / 256) / 0x1p24);
    ASSERT_EQ(half.at(i), std::floor(bits.at(i) / 0x1p21) / 0x1p11);
  }
}

TEST(Random, NormalHasTheMomentsOfTheNormal) {
  for (const Dtype dtype : {f16, bf16, f32, f64}) {
    const Array x = draw(normal(word(7), word(1), shape(dtype, 40000), 1, 2));
    ASSERT_EQ(x.dtype(), dtype);
    EXPECT_NEAR(mean(x), 1, 0.05) << name(dtype);
    EXPECT_NEAR(moment(x, 2), 4, 0.15) << name(dtype);
    EXPECT_NEAR(moment(x, 3) / 8, 0, 0.06) << name(dtype);
    EXPECT_NEAR(moment(x, 4) / 16, 3, 0.15) << name(dtype);
  }
  // Neighbours are independent, though they come from one block.
  const Array x = draw(normal(word(7), word(1), shape(f64, 40000)));
  double product = 0;
  for (int64_t i = 0; i + 1 < x.size(); ++i) {
    product += x.at(i) * x.at(i + 1);
  }
  EXPECT_NEAR(product / 40000, 0, 0.02);
}

TEST(Random, BernoulliAtItsLimitsAndByValue) {
  const auto all = [&](double p) { return mean(draw(bernoulli(word(1), word(1), {20000}, p))); };
  EXPECT_EQ(all(0), 0);
  EXPECT_EQ(all(1), 1);
  EXPECT_NEAR(all(0.3), 0.3, 0.015);
  const Value each = constant(Array::from<float>({2}, {0, 1}));
  const Array rows = draw(bernoulli(word(1), word(1), {50, 2}, each));
  for (int64_t i = 0; i < 100; ++i) {
    ASSERT_EQ(rows.at(i), i % 2);
  }
}

TEST(Random, DropoutKeepsTheMean) {
  const Value x = input("x", shape(f32, "batch", 100));
  const Graph graph({x}, {{"some", dropout(x, 0.2, word(1), word(2))},
                          {"none", dropout(x, 0, word(1), word(2))},
                          {"all", dropout(x, 1, word(1), word(2))}});
  const Array ones = Array::full(f32, {200, 100}, 1);
  const auto out = interpret(graph, {ones});
  int64_t kept = 0;
  for (int64_t i = 0; i < ones.size(); ++i) {
    ASSERT_TRUE(out[0].at(i) == 0 || out[0].at(i) == 1.25);
    kept += out[0].at(i) == 0 ? 0 : 1;
  }
  EXPECT_NEAR(static_cast<double>(kept) / 20000, 0.8, 0.015);
  EXPECT_TRUE(same(out[1], ones));
  EXPECT_TRUE(same(out[2], Array(f32, {200, 100})));
  // The same program over a NaN: dropped elements are 0, not NaN.
  const Array nans = Array::full(f32, {1, 100}, std::numeric_limits<double>::quiet_NaN());
  const Array dropped = interpret(graph, {nans})[0];
  for (int64_t i = 0; i < 100; ++i) {
    ASSERT_EQ(dropped.at(i) == 0, out[0].at(i) == 0);
  }
}

TEST(Random, PermutationsHoldEveryNumberOnce) {
  for (const int64_t n : {0, 1, 9, 1000}) {
    const Array order = draw(permutation(word(1), word(static_cast<uint64_t>(n)), n));
    std::vector<int64_t> sorted(order.values<int64_t>().begin(), order.values<int64_t>().end());
    std::ranges::sort(sorted);
    std::vector<int64_t> expected(static_cast<size_t>(n));
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(sorted, expected);
  }
  const Array order = draw(permutation(word(1), word(1), 1000));
  EXPECT_FALSE(std::ranges::is_sorted(order.values<int64_t>()));
}

TEST(Random, ErrorsSayWhatIsWrong) {
  EXPECT_NE(
      error_text([&] { random_bits(scalar(i64, 1), word(1), shape(u32, 3)); }).find("the key is i64[], must be u64[]"),
      std::string::npos);
  EXPECT_NE(error_text([&] { random_bits(word(1), word(1), shape(f32, 3)); }).find("gives u32 or u64 bits, not f32"),
            std::string::npos);
  EXPECT_NE(error_text([&] { uniform(word(1), word(1), shape(i32, 3)); }).find("is for floats, not i32"),
            std::string::npos);
  EXPECT_NE(error_text([&] { uniform(word(1), word(1), shape(f16, 3), 1, 1.00001); }).find("no numbers of f16 between"),
            std::string::npos);
  EXPECT_NE(error_text([&] { dropout(scalar(f32, 1), 1.5, word(1), word(1)); }).find("the rate is 1.5"),
            std::string::npos);
}

}  // namespace
}  // namespace tenon::random_test
