// Products and attention in tiles for the caches of other machines, against the interpreter.
#include <gtest/gtest.h>

#include "support/compiled.h"
#include "support/error_text.h"
#include "support/machines.h"
#include "support/small_graph.h"

namespace tenon::tile_cache_test {
namespace {

constexpr int64_t kKiB = 1024;

class OtherCaches : public testing::TestWithParam<SmallGraph> {};

/// Sizes below, at and above tiles of each.
TEST_P(OtherCaches, GiveWhatTheInterpreterGives) {
  for (const int64_t cache : {1, 256, 512, 1024}) {
    CompiledCheck check{.compile = {.machine = with_cache(cache * kKiB)}, .relative = 1e-4, .of_largest = 1e-5};
    for (const int64_t size : {0, 1, 63, 64, 65, 95, 129, 200}) {
      check.at.push_back({{"b", 2}, {"m", size}, {"n", 2 * size + 1}, {"k", 60}});
      check.at.push_back({{"b", 1}, {"m", 33}, {"n", size}, {"k", 3 * size}});
    }
    EXPECT_TRUE(compiled_matches(make(GetParam()), check)) << cache;
  }
}

INSTANTIATE_TEST_SUITE_P(All, OtherCaches,
                         testing::Values(SmallGraph{"plain", "a: f32[b, m, k], b: f32[b, k, n]", "y = matmul(a, b)"},
                                         SmallGraph{"both_sides", "a: f32[b, m, k], b: f32[k, n], c: f32[n]",
                                                    "y = gelu(add(matmul(exp(a), tanh(b)), c))"},
                                         SmallGraph{"weights", "a: f32[b, m, 200], w: f32[200, 130], x: f32[b, k, n]",
                                                    "y = relu(matmul(a, w)); z = exp(x)"},
                                         SmallGraph{"convolution",
                                                    "a: f32[b, 40, m, 9], w: f32[70, 40, 3, 3], x: f32[k, n]",
                                                    "y = relu(conv(a, w, low=[1, 1], high=[1, 1])); z = exp(x)"},
                                         SmallGraph{"attention", "q: f32[b, m, 16], k: f32[b, n, 16], v: f32[b, n, k]",
                                                    "y = attention(q, k, v)"}),
                         [](const auto& each) { return each.param.name; });

TEST(OtherCaches, AreTheSameBitsForAnyNumberOfThreads) {
  const Graph graph =
      make({"attention", "q: f32[2, 150, 16], k: f32[2, 300, 16], v: f32[2, 300, 24]", "y = attention(q, k, v)"});
  const Executable executable = compile(graph, {.least_shared_work = 0, .machine = with_cache(256 * kKiB)});
  std::vector<Array> inputs;
  for (const Value& in : graph.inputs()) {
    inputs.push_back(Array::full(f32, resolve(in.shape(), {}).dims(), 0.5));
  }
  EXPECT_TRUE(same_for_any_threads(executable, inputs));
}

TEST(OtherCaches, CannotBeLessThanNothing) {
  const Graph graph = make({"plain", "a: f32[m, k], b: f32[k, n]", "y = matmul(a, b)"});
  EXPECT_EQ(error_text([&] { compile(graph, {.machine = with_cache(-1)}); }),
            "machine `host`: `second_cache` is -1; it is the bytes of a cache, such as 512 KiB or 2 MiB, from 1 to "
            "1099511627776");
}

}  // namespace
}  // namespace tenon::tile_cache_test
