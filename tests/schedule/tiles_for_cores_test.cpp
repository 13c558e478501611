// Tiles of products for machines with many cores, on paper.
#include <gtest/gtest.h>

#include <algorithm>

#include "schedule/products/product_blocks.h"
#include "tenon/bindings.h"

namespace tenon::schedule {
namespace {

constexpr int64_t kRows = 192, kColumns = 256;  // that caches allow

struct Case {
  int64_t rows, columns;
  int64_t others = 1;
};

struct Cut {
  int64_t rows, columns, tiles;
};

Cut cut_for(const Case& each, int64_t cores) {
  const TileSides all{.rows = Extent::name("m"), .columns = each.columns, .others = Extent::name("b")};
  const TileSides sides = tiles_for_cores(all, {.rows = kRows, .columns = kColumns}, cores);
  const Bindings at{{"m", each.rows}, {"b", each.others}};
  Cut cut{.rows = evaluate(sides.rows, at), .columns = evaluate(sides.columns, at), .tiles = 0};
  const auto parts = [](int64_t whole, int64_t size) { return (whole + size - 1) / size; };
  cut.tiles = each.others * parts(each.rows, cut.rows) * parts(each.columns, cut.columns);
  return cut;
}

TEST(TilesForCores, AreThoseOfTheCachesOnTwo) {
  const Cut cut = cut_for({.rows = 128, .columns = 768}, 2);
  EXPECT_EQ(cut.rows, kRows);
  EXPECT_EQ(cut.columns, kColumns);
}

TEST(TilesForCores, GiveEveryCoreTwoWhereThereIsEnough) {
  for (const int64_t cores : {4, 8, 16, 32, 64}) {
    for (const Case& each : {Case{128, 3072}, Case{335, 768}, Case{128, 768}, Case{2048, 2048}, Case{16384, 1024}}) {
      if (each.rows * each.columns >= 2 * cores * 48 * 64) {
        EXPECT_GE(cut_for(each, cores).tiles, 2 * cores) << each.rows << " x " << each.columns << ", " << cores;
      }
    }
  }
}

TEST(TilesForCores, StayAsLargeAsCachesAllowWhereThereAreManyAnyway) {
  const Cut cut = cut_for({.rows = 100'000, .columns = 768}, 64);
  EXPECT_EQ(cut.rows, kRows);
  EXPECT_EQ(cut.columns, kColumns);
}

TEST(TilesForCores, AreNeverTooSmallForTheCodeOfProducts) {
  for (int64_t rows = 0; rows < 400; rows += 13) {
    for (const int64_t columns : {1, 31, 64, 100, 512, 768, 3072}) {
      for (const int64_t cores : {4, 16, 64}) {
        const Cut cut = cut_for({.rows = rows, .columns = columns}, cores);
        EXPECT_GE(cut.rows, std::min<int64_t>(std::max<int64_t>(rows, 1), 16)) << rows << " x " << columns;
        EXPECT_GE(cut.columns, std::min<int64_t>(columns, 32)) << rows << " x " << columns;
      }
    }
  }
}

TEST(TilesForCores, CountWhatRunsBesideThem) {
  const Cut cut = cut_for({.rows = 128, .columns = 768, .others = 96}, 16);  // heads of a batch, say
  EXPECT_EQ(cut.tiles, 96 * 768 / kColumns);
}

/// Tiles of an output, of which caches allow any.
Cut output_cut_for(const Case& each, int64_t cores) {
  const TileSides all{.rows = Extent::name("m"), .columns = Extent::name("n"), .others = 1};
  const TileSides sides = output_tiles_for_cores(all, {.rows = 384, .columns = 128}, cores);
  const Bindings at{{"m", each.rows}, {"n", each.columns}};
  Cut cut{.rows = evaluate(sides.rows, at), .columns = evaluate(sides.columns, at), .tiles = 0};
  const auto parts = [](int64_t whole, int64_t size) { return (whole + size - 1) / size; };
  cut.tiles = parts(each.rows, cut.rows) * parts(each.columns, cut.columns);
  return cut;
}

TEST(OutputTilesForCores, AreOneForEachOfTwo) {
  for (const int64_t size : {100, 128, 192, 256, 300, 512}) {
    const Cut cut = output_cut_for({.rows = size, .columns = size}, 2);
    EXPECT_GE(cut.tiles, 2) << size;
    EXPECT_GE(cut.columns, 64) << size;
  }
  EXPECT_EQ(output_cut_for({.rows = 64, .columns = 64}, 2).tiles, 1);  // threads would wait for each other longer
  EXPECT_GE(output_cut_for({.rows = 300, .columns = 40}, 2).tiles, 2);
}

TEST(OutputTilesForCores, AreEnoughForMany) {
  for (const int64_t cores : {4, 8, 16, 32, 64}) {
    for (const int64_t size : {128, 192, 256, 512, 1024}) {
      const Cut cut = output_cut_for({.rows = size, .columns = size}, cores);
      EXPECT_GE(cut.tiles, std::min(cores, size * size / (32 * 32))) << size << ", " << cores;
      EXPECT_GE(cut.columns, 32) << size << ", " << cores;
      EXPECT_GE(cut.rows, 16) << size << ", " << cores;
    }
  }
}

TEST(OutputTilesForCores, StayAsTheyAreOnOne) {
  const Cut cut = output_cut_for({.rows = 256, .columns = 256}, 1);
  EXPECT_EQ(cut.rows, 384);
  EXPECT_EQ(cut.columns, 128);
}

}  // namespace
}  // namespace tenon::schedule
