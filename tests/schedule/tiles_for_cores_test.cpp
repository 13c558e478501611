// Tiles of products for machines with many cores, on paper.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "schedule/products/product_blocks.h"
#include "tenon/bindings.h"

namespace tenon::schedule::tiles_for_cores_test {
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

TEST(TilesForCores, AreThoseOfTheCachesOnOne) {
  const Cut cut = cut_for({.rows = 128, .columns = 768}, 1);
  EXPECT_EQ(cut.rows, kRows);
  EXPECT_EQ(cut.columns, kColumns);
}

/// Rows of the tiles of one loop, the size of which is known or comes when sizes are bound.
int64_t rows_of_tiles(int64_t rows, bool known, const TileSides& sides) {
  Draft draft;
  draft.kernel.axes.push_back({.extent = known ? Extent(rows) : Extent::name("m"), .name = "m"});
  cut_loops(draft, {0}, sides.rows, 1, sides.even_rows);
  return evaluate(draft.axis(0).extent.substitute(draft.kernel.arguments), {{"m", rows}});
}

/// What the busier one of two cores has to do, by half of all: each takes the next largest tile when it has done its
/// own.
double share_of_two(int64_t rows, int64_t high, int64_t columns, int64_t wide) {
  std::vector<int64_t> tiles;
  for (int64_t row = 0; row < rows; row += high) {
    for (int64_t column = 0; column < columns; column += wide) {
      tiles.push_back(std::min(high, rows - row) * std::min(wide, columns - column));
    }
  }
  std::ranges::sort(tiles, std::greater());
  int64_t one = 0, other = 0;
  for (const int64_t tile : tiles) {
    (one < other ? one : other) += tile;
  }
  return 2.0 * static_cast<double>(std::max(one, other)) / static_cast<double>(rows * columns);
}

TEST(TilesForCores, AreAsManyForEachOfTwo) {
  for (const bool known : {false, true}) {
    for (const int64_t columns : {16, 32, 64, 96, 160, 320, 512, 768, 960, 1280, 3072}) {
      for (const int64_t rows : {49, 64, 128, 196, 300, 784, 785, 3136}) {
        const Extent m = known ? Extent(rows) : Extent::name("m");
        const TileSides sides =
            tiles_for_cores({.rows = m, .columns = columns}, {.rows = kRows, .columns = kColumns}, 2);
        const int64_t high = rows_of_tiles(rows, known, sides);
        const int64_t wide = evaluate(sides.columns, {{"m", rows}});
        const std::string at = fmt::format("{} x {} in tiles of {} x {}", rows, columns, high, wide);
        EXPECT_LE(high, kRows) << at;
        EXPECT_GE(high, 16) << at;
        EXPECT_LE(wide, kColumns) << at;
        EXPECT_LE(share_of_two(rows, high, columns, wide), 1.25) << at;
      }
    }
  }
}

TEST(TilesForCores, OfTwoAreNoSmallerThanThatTakes) {
  const TileSides sides =
      tiles_for_cores({.rows = Extent::name("m"), .columns = 1024}, {.rows = kRows, .columns = kColumns}, 2);
  EXPECT_EQ(sides.columns, Extent(kColumns));
  EXPECT_EQ(sides.even_rows.count, 1);
  const TileSides heads = tiles_for_cores({.rows = Extent::name("m"), .columns = 64, .others = 12 * Extent::name("b")},
                                          {.rows = kRows, .columns = kColumns}, 2);
  EXPECT_EQ(heads.even_rows.count, 1);
}

TEST(TilesForCores, OfNothingAreOfOneRow) {
  for (const bool known : {false, true}) {
    EXPECT_EQ(rows_of_tiles(0, known, {.rows = kRows, .even_rows = {.count = 2, .least = 16}}), 1) << known;
  }
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
}  // namespace tenon::schedule::tiles_for_cores_test
