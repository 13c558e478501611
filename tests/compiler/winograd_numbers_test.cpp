// What infinities and NaN become in Winograd's form: what they become in the convolution.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "support/arrays.h"
#include "support/compiled.h"
#include "support/machines.h"
#include "support/winograd_graphs.h"

namespace tenon::winograd_numbers_test {
namespace {

/// Pixels that are no numbers reach the results that read them, and no others; a weight of 0 makes NaN of an infinity.
void expect_same_kinds(const Graph& graph, const CompileOptions& options, Array image) {
  const Executable winograd = compile(graph, options);
  ASSERT_EQ(forms(winograd), 1);
  const auto values = image.mutable_values<float>();
  std::mt19937_64 rng(static_cast<uint64_t>(image.size()));
  for (const float special : {NAN, INFINITY, -INFINITY}) {
    values[rng() % values.size()] = special;
  }
  CompileOptions plainly = options;
  plainly.winograd = false;
  const Array actual = winograd.run({image})[0];
  const Array expected = compile(graph, plainly).run({image})[0];
  double largest = 0;
  for (int64_t i = 0; i < expected.size(); ++i) {
    largest = std::isfinite(expected.at(i)) ? std::max(largest, std::abs(expected.at(i))) : largest;
  }
  int64_t numbers = 0;
  for (int64_t i = 0; i < actual.size(); ++i) {
    const double a = actual.at(i);
    const double e = expected.at(i);
    numbers += std::isfinite(e) ? 1 : 0;
    if (std::isfinite(e)) {
      ASSERT_NEAR(a, e, 1e-5 * largest) << i;
    } else {
      ASSERT_TRUE(std::isnan(e) ? std::isnan(a) : a == e) << i << ": " << a << " instead of " << e;
    }
  }
  EXPECT_LT(numbers, actual.size());
  EXPECT_TRUE(same_for_any_threads(winograd, {image}));
}

TEST(Winograd, NumbersThatAreNoneReachTheResultsThatReadThem) {
  std::mt19937_64 rng(6);
  for (const char* const weights : {"{}", "relu({})"}) {
    for (const std::string first : {"x", "relu(x)"}) {
      SmallGraph text = alone(first, weights);
      for (const auto& [height, width] : {std::pair(19, 20), std::pair(4, 4), std::pair(33, 5), std::pair(1, 9)}) {
        const Array image = random_array(f32, {2, 3, height, width}, rng, -1, 1);
        expect_same_kinds(make(text), {.machine = with_cache(kCache)}, image);
      }
      const Array image = random_array(f32, {1, 3, 9, 7}, rng, -1, 1);
      expect_same_kinds(make(text), {.native = false, .machine = with_cache(kCache)}, image);
    }
  }
}

TEST(Winograd, NumbersThatAreNoneInSmallSquares) {
  std::mt19937_64 rng(7);
  int small = 0;
  for (const int64_t size : {6, 10, 14, 18}) {
    SmallGraph text = alone("x", "relu({})");
    text.inputs.replace(0, text.inputs.find(']') + 1, fmt::format("x: f32[1, 3, {}, {}]", size, size));
    const CompileOptions options{.machine = with_cache(kCache)};
    if (forms(compile(make(text), options), "(winograd 2x2)") == 1) {
      ++small;
      expect_same_kinds(make(text), options, random_array(f32, {1, 3, size, size}, rng, -1, 1));
    }
  }
  EXPECT_GT(small, 0);
}

TEST(Winograd, NumbersThatAreNoneInBlocksOfChannelsAndResults) {
  const Graph graph = make({"wide", "x: f32[b, 3, h, v], wa: f32[200, 3, 1, 1], wb: f32[140, 200, 3, 3]",
                            "a = conv(x, wa); c = conv(a, relu(wb), low=[1, 1], high=[1, 1]); "
                            "y = transpose(add(c, c), axes=[0, 2, 3, 1])"});
  std::mt19937_64 rng(8);
  for (const auto& [cache, cores] : {std::pair(8 * kCache, 2), std::pair(kCache, 16), std::pair(kCache / 8, 1)}) {
    expect_same_kinds(graph, {.machine = machine_of(cache, cores)}, random_array(f32, {1, 3, 15, 14}, rng, -1, 1));
  }
}

/// A weight may be so small that its neighbours' roundings hide it: an infinity is not multiplied by 0 for that.
TEST(Winograd, SmallWeightsBesideLargeOnes) {
  std::mt19937_64 rng(9);
  for (const char* const position : {"[0, 1]", "[1, 0]", "[1, 2]", "[2, 1]", "[1, 1]", "[0, 2]"}) {
    for (const double size : {1e-6, -1e-9, 1e-12, 0.0}) {
      const std::string at = fmt::format("{}", position);
      const SmallGraph text{
          "small", "x: f32[b, 3, h, v], wa: f32[64, 3, 1, 1], wb: f32[64, 64, 3, 3]",
          fmt::format("here = mul(cast(eq(iota(i64[3, 1], 0), {0}), dtype=f32), cast(eq(iota(i64[1, 3], 1), {1}), "
                      "dtype=f32)); w = add(mul(add(abs(wb), 0.5), sub(1, here)), mul(here, {2:g})); "
                      "a = abs(conv(x, wa)); c = conv(a, w, low=[1, 1], high=[1, 1]); "
                      "y = transpose(c, axes=[0, 2, 3, 1])",
                      at[1], at[4], size)};
      expect_same_kinds(make(text), {.machine = with_cache(kCache)}, random_array(f32, {1, 3, 13, 9}, rng, -1, 1));
    }
  }
}

/// Weights that cannot be added up are multiplied as they are.
TEST(NotWinograd, WhereWeightsAreNoNumbers) {
  for (const char* const weights : {"log(sub({0}, {0}))", "mul({}, 1e38)"}) {
    const Graph graph = make(alone("x", weights));
    EXPECT_EQ(forms(compile(graph, {.machine = with_cache(kCache)})), 0) << weights;
  }
}

/// A pixel that is too large to be subtracted makes no numbers of none.
TEST(Winograd, PixelsThatAreTooLarge) {
  const Graph graph = make(alone("relu(x)", "{}"));
  const Executable winograd = compile(graph, {.machine = with_cache(kCache)});
  const Executable plain = compile(graph, {.machine = with_cache(kCache), .winograd = false});
  ASSERT_EQ(forms(winograd, "(winograd 4x4)"), 1);
  constexpr int64_t kWidth = 20;
  std::mt19937_64 rng(6);
  Array image = random_array(f32, {1, 3, 19, kWidth}, rng, 0, 1);
  image.mutable_values<float>()[10 * kWidth + 11] = 3e38F;
  const Array actual = winograd.run({image})[0];
  const Array expected = plain.run({image})[0];
  for (int64_t i = 0; i < actual.size(); ++i) {
    EXPECT_TRUE(std::isfinite(expected.at(i)) || !std::isfinite(actual.at(i))) << i;
    const int64_t y = i / 64 / kWidth;
    const int64_t x = i / 64 % kWidth;
    if (y < 7 || y > 12 || x < 7 || x > 12) {  // squares of 4 that read one pixel around them
      ASSERT_NEAR(actual.at(i), expected.at(i), 1e-3) << y << ", " << x;
    }
  }
}

}  // namespace
}  // namespace tenon::winograd_numbers_test
