// Reasons to run whole, in words.
#include "report/tile_lines.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace tenon::report::tile_lines_test {
namespace {

PipelineReport whole(int first_step, std::string reason) {
  PipelineReport report;
  report.first_step = first_step;
  report.reason = std::move(reason);
  return report;
}

TEST(TileLines, EqualReasonsAreOneLine) {
  const std::string fits = "it stays in cache";
  const std::vector<std::string> lines = tile_lines({whole(2, fits), whole(6, fits), whole(8, fits), whole(9, fits),
                                                     whole(10, fits), whole(3, "threads would write the same rows")});
  EXPECT_EQ(lines, (std::vector<std::string>{"steps 3, 7, 9-11 run whole: it stays in cache",
                                             "step 4 runs whole: threads would write the same rows"}));
}

TEST(TileLines, ReasonsThatDifferInNumbersAreOneLineWithTheirRanges) {
  const std::vector<std::string> lines =
      tile_lines({whole(0, "saves 10.5 us; costs 3.0 us"), whole(1, "saves 9.5 us; costs 3.0 us"),
                  whole(4, "saves 20.0 us; costs 3.0 us")});
  EXPECT_EQ(lines, (std::vector<std::string>{"steps 1-2, 5 run whole: saves 9.5 to 20.0 us; costs 3.0 us"}));
}

TEST(TileLines, WhatRunsInTilesComesFirst) {
  PipelineReport tiled = whole(4, "saves 2.0 us");
  tiled.steps = 3;
  tiled.tiled = true;
  tiled.tiles = 1;
  tiled.rows = 8;
  tiled.strips = 2;
  const std::vector<std::string> lines = tile_lines({whole(0, "why"), tiled});
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].find("steps 5 to 7 run tile by tile: 1 tile of 8 rows in 2 strips; "), 0U) << lines[0];
  EXPECT_EQ(lines[1], "step 1 runs whole: why");
}

}  // namespace
}  // namespace tenon::report::tile_lines_test
