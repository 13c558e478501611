// Tiles of products follow the caches of the machine.
#include "schedule/options/product_tiles.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernel/product/product.h"
#include "passes/inline_calls.h"
#include "schedule/schedule.h"
#include "support/small_graph.h"

namespace tenon::schedule::product_tiles_test {
namespace {

constexpr int64_t kKiB = 1024;

/// Where decisions 16 and 17 were measured.
TEST(ProductTiles, OfTwoMebibytes) {
  const ProductTiles tiles = product_tiles(2048 * kKiB);
  EXPECT_EQ(tiles, ScheduleOptions().tiles);
  EXPECT_EQ(tiles.rows, 192);
  EXPECT_EQ(tiles.columns, 256);
  EXPECT_EQ(tiles.rows_of_many, 64);
  EXPECT_EQ(tiles.rows_of_stored, 256);
  EXPECT_EQ(tiles.depth, 160);
  EXPECT_EQ(tiles.depth_of_packed, 576);
  EXPECT_EQ(tiles.tile_elements, 32 * kKiB);
  EXPECT_EQ(tiles.stored_elements, 80 * kKiB);
  EXPECT_EQ(tiles.streamed_elements, 192 * 256);
  EXPECT_EQ(tiles.streamed_block, 256);
  EXPECT_EQ(tiles.streamed_with_block, 80'000);
  EXPECT_EQ(tiles.winograd_elements, 256 * kKiB);
}

TEST(ProductTiles, OfMoreAreNoLarger) { EXPECT_EQ(product_tiles(64 * 1024 * kKiB), product_tiles(2048 * kKiB)); }

/// A tile and one block of each operand fit into a quarter of the cache, and a half of that is not left unused.
TEST(ProductTiles, FillAQuarterOfTheCache) {
  for (const int64_t cache : {128, 256, 384, 512, 1024, 1280, 2048}) {
    const ProductTiles tiles = product_tiles(cache * kKiB);
    const int64_t all = 4 * (tiles.rows * tiles.columns + tiles.rows * tiles.depth + tiles.depth * tiles.columns);
    EXPECT_LE(all, cache * kKiB / 4) << cache;
    EXPECT_GE(all, cache * kKiB / 8) << cache;
    EXPECT_EQ(tiles.columns % 32, 0) << cache;
    EXPECT_GE(tiles.rows_of_many, 8) << cache;
  }
}

TEST(ProductTiles, OfHardlyAnyCacheAreStillTiles) {
  EXPECT_EQ(product_tiles(0), product_tiles(128 * kKiB));
  EXPECT_GE(product_tiles(0).rows, 32);
}

/// Beside what products pack for themselves, at any sizes.
int64_t most_tile_bytes(const Graph& graph, int64_t cache) {
  int64_t most = 0;
  const Program program = make_program(graph, {.tiles = product_tiles(cache)});
  for (const Step& step : program.steps) {
    for (const LaunchPart& part : parts_of(step)) {
      const loops::Kernel& kernel = program.kernels.at(static_cast<size_t>(part.kernel));
      const Extent bytes = scratch_bytes(kernel).substitute(kernel.arguments);
      for (const int64_t size : {64, 1000, 5000}) {
        const Bindings at{{"b", 2}, {"m", size}, {"n", size}, {"k", size}, {"e", 64}};
        if (part.long_rows_of >= 0 && evaluate(part.row_bytes, at) > program.most_row_bytes) {
          most = std::max(most, evaluate(bytes, at) - kProductScratchBytes);
        } else if (part.long_rows_of < 0 && parts_of(step).size() == 1) {
          most = std::max(most, evaluate(bytes, at) - kProductScratchBytes);
        }
      }
    }
  }
  return most;
}

class TilesOfCaches : public testing::TestWithParam<SmallGraph> {};

TEST_P(TilesOfCaches, TakeScratchOfTheirSize) {
  const Graph graph = passes::inline_calls(make(GetParam()));
  int64_t smaller = 0;
  for (const int64_t cache : {256, 512, 1024, 2048}) {
    const int64_t bytes = most_tile_bytes(graph, cache * kKiB);
    EXPECT_GT(bytes, smaller) << cache;
    EXPECT_LE(bytes, cache * kKiB / 4) << cache;
    smaller = bytes;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, TilesOfCaches,
    testing::Values(SmallGraph{"epilogue", "a: f32[m, k], b: f32[k, n], c: f32[n]", "y = gelu(add(matmul(a, b), c))"},
                    SmallGraph{"prologue", "a: f32[m, k], b: f32[k, n]", "y = exp(matmul(exp(a), tanh(b)))"},
                    SmallGraph{"attention", "q: f32[b, m, 64], k: f32[b, n, 64], v: f32[b, n, e]",
                               "y = attention(q, k, v)"},
                    SmallGraph{"half_attention", "q: bf16[b, m, 64], k: bf16[b, n, 64], v: bf16[b, n, e]",
                               "y = attention(q, k, v)"}),
    [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace tenon::schedule::product_tiles_test
