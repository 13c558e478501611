// How convolutions in Winograd's form are cut, for caches and cores.
#include "schedule/products/winograd_blocks.h"

#include <gtest/gtest.h>

#include "kernel/product/product.h"
#include "kernel/program/program.h"

namespace tenon::schedule {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kWork = kProductPanelScratchBytes;

int64_t parts_of(int64_t all, int64_t each) { return (all + each - 1) / each; }

TEST(WinogradBlocks, FitIntoScratchAndEndWithPanels) {
  for (const int64_t cache : {int64_t{0}, kMiB / 4, kMiB, 2 * kMiB, 16 * kMiB}) {
    for (const int64_t panel : {0, 12, 16, 32}) {
      const int64_t work = panel > 0 ? kWork : kProductScratchBytes;
      for (const int64_t channels : {64, 65, 130, 512, 4000}) {
        for (const int64_t results : {64, 100, 512, 2049}) {
          for (const int64_t cores : {1, 2, 64}) {
            const ProductTiles tiles = product_tiles(cache);
            const WinogradBlocks blocks =
                winograd_blocks({.channels = channels, .results = results, .cores = cores}, tiles, panel, work);
            EXPECT_LE(64 * (blocks.squares * (blocks.channels + blocks.results) + 2 * kWinogradApart) + work,
                      kMostScratch);
            EXPECT_LE(16 * blocks.squares * (blocks.channels + blocks.results), tiles.winograd_elements);
            EXPECT_GE(blocks.squares, 1);
            EXPECT_GE(blocks.channels, 64);
            EXPECT_GE(blocks.results, 32);
            EXPECT_LE(blocks.channels, channels);
            EXPECT_LE(blocks.results, results);
            EXPECT_TRUE(blocks.results == results || blocks.results % (panel > 0 ? panel : 32) == 0);
          }
        }
      }
    }
  }
}

TEST(WinogradBlocks, HoldAllOfFewChannelsAndManySquaresOfManyChannels) {
  for (const int64_t cache : {kMiB, 2 * kMiB}) {
    const ProductTiles tiles = product_tiles(cache);
    for (const int64_t channels : {64, 96, 128}) {
      const WinogradBlocks blocks = winograd_blocks({.channels = channels, .results = channels}, tiles, 32, kWork);
      EXPECT_EQ(blocks.channels, channels);
      EXPECT_EQ(blocks.results, channels);
    }
    for (const auto& [channels, results] : {std::pair(256, 256), std::pair(512, 512), std::pair(2048, 512)}) {
      const WinogradBlocks blocks = winograd_blocks({.channels = channels, .results = results}, tiles, 32, kWork);
      EXPECT_GE(blocks.squares, 30) << cache << ", " << channels;
      EXPECT_GE(blocks.results, 64) << cache << ", " << channels;  // or pixels would be transformed too often
    }
  }
}

/// 7x7 pixels are one block of squares.
TEST(WinogradBlocks, AreEnoughForCoresWhereImagesAreSmall) {
  const WinogradSize size{.channels = 512, .results = 512, .squares = 16, .pixels = 49};
  const auto count = [&](int64_t cores) {
    WinogradSize each = size;
    each.cores = cores;
    return parts_of(512, winograd_blocks(each, product_tiles(2 * kMiB), 32, kWork).results);
  };
  EXPECT_GE(count(2), 2);
  EXPECT_GE(count(8), 8);
  EXPECT_GE(count(16), 16);
  EXPECT_EQ(count(64), 16);  // and no smaller
}

TEST(WinogradBlocks, PayWhereWeightsAreReadForEnoughSquares) {
  const auto pays = [](int64_t channels, std::optional<int64_t> side, int64_t cache, int64_t cores = 2) {
    WinogradSize size{.channels = channels, .results = channels, .cores = cores};
    if (side) {
      size.squares = parts_of(*side, 2) * parts_of(*side, 2);
      size.pixels = *side * *side;
    }
    return winograd_pays(size, product_tiles(cache));
  };
  for (const int64_t cache : {kMiB, 2 * kMiB}) {
    for (const int64_t channels : {64, 128, 256, 512, 1024}) {
      EXPECT_TRUE(pays(channels, std::nullopt, cache)) << channels;
      EXPECT_TRUE(pays(channels, 14, cache)) << channels;
      EXPECT_TRUE(pays(channels, 7, cache)) << channels;
      EXPECT_FALSE(pays(channels, 3, cache)) << channels;
      EXPECT_TRUE(pays(channels, 14, cache, 16)) << channels;
    }
    EXPECT_FALSE(pays(512, 5, cache));
    EXPECT_FALSE(pays(512, 4, cache));
  }
  EXPECT_FALSE(pays(512, std::nullopt, kMiB / 8));
}

}  // namespace
}  // namespace tenon::schedule
