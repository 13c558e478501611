// How convolutions in Winograd's form are cut, for caches and cores.
#include "schedule/products/winograd_blocks.h"

#include <gtest/gtest.h>

#include "kernel/product/product.h"
#include "kernel/program/program.h"

namespace tenon::schedule::winograd_blocks_test {
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
          for (const auto& [cores, form] :
               {std::pair(1, layouts::kSmallSquares), std::pair(2, layouts::kLargeSquares),
                std::pair(64, layouts::kSmallSquares), std::pair(64, layouts::kLargeSquares)}) {
            const ProductTiles tiles = product_tiles(cache);
            const WinogradBlocks blocks =
                winograd_blocks({.channels = channels, .results = results, .cores = cores}, form, tiles, panel, work);
            const int64_t both = blocks.channels + blocks.results;
            if (blocks.squares > 1) {  // and one square that is half transformed
              EXPECT_LE(form.parts() * (blocks.squares + 1) * both, tiles.winograd_elements);
            }
            EXPECT_LE(4 * form.parts() * ((blocks.squares + 1) * both + 2 * kWinogradApart) + work, kMostScratch);
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
      const WinogradBlocks blocks =
          winograd_blocks({.channels = channels, .results = channels}, layouts::kSmallSquares, tiles, 32, kWork);
      EXPECT_EQ(blocks.channels, channels);
      EXPECT_EQ(blocks.results, channels);
    }
    for (const auto& [channels, results] : {std::pair(256, 256), std::pair(512, 512), std::pair(2048, 512)}) {
      const WinogradBlocks blocks =
          winograd_blocks({.channels = channels, .results = results}, layouts::kSmallSquares, tiles, 32, kWork);
      EXPECT_GE(blocks.squares, 30) << cache << ", " << channels;
      EXPECT_GE(blocks.results, 64) << cache << ", " << channels;  // or pixels would be transformed too often
    }
  }
}

/// 7x7 pixels are one block of squares.
TEST(WinogradBlocks, AreEnoughForCoresWhereImagesAreSmall) {
  const WinogradSize size{.channels = 512, .results = 512, .image = ImageSize{1, 7, 7}};
  const auto count = [&](int64_t cores) {
    WinogradSize each = size;
    each.cores = cores;
    return parts_of(512, winograd_blocks(each, layouts::kSmallSquares, product_tiles(2 * kMiB), 32, kWork).results);
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
      size.image = {1, *side, *side};
    }
    return winograd_form(size, product_tiles(cache)).has_value();
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

/// Large squares multiply less, but have more than twice the weights.
TEST(WinogradBlocks, AreOfLargeSquaresWhereWeightsAreFewForTheImage) {
  const auto form = [](int64_t channels, std::optional<int64_t> side) {
    WinogradSize size{.channels = channels, .results = channels};
    if (side) {
      size.image = {1, *side, *side};
    }
    return winograd_form(size, product_tiles(kMiB));
  };
  EXPECT_EQ(form(64, 56), layouts::kLargeSquares);
  EXPECT_EQ(form(128, 28), layouts::kLargeSquares);
  EXPECT_EQ(form(256, 64), layouts::kLargeSquares);
  EXPECT_EQ(form(512, 7), layouts::kSmallSquares);
  EXPECT_EQ(form(64, std::nullopt), layouts::kLargeSquares);
  EXPECT_EQ(form(1024, std::nullopt), layouts::kSmallSquares);
}

}  // namespace
}  // namespace tenon::schedule::winograd_blocks_test
