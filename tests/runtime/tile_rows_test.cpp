// Which elements rows touch and which rows touch elements, against going through all of them.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "runtime/tiles/rows.h"

namespace tenon::runtime::tile_rows_test {
namespace {

struct Rows {
  std::vector<TouchedRow> touched;
  RowCount count;

  Interval of(int64_t row) const {
    Interval all;
    for (const TouchedRow& each : touched) {
      all = hull(all, each.of(row / count.rows, row % count.rows));
    }
    return all;
  }
};

/// Rows of images with a halo, as windows read them, or side by side, as kernels write them; one or two ranges of them.
Rows random_rows(std::mt19937_64& rng) {
  const auto number = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(rng() % static_cast<uint64_t>(high - low + 1));
  };
  const int64_t items = number(1, 4);
  const int64_t rows = number(1, 9);
  const int64_t step = number(1, 5);
  const int64_t width = number(1, 2 * step);
  const int64_t size = rows * step;
  Rows result{.touched = {}, .count = {.rows = rows, .all = rows * items}};
  for (int64_t ranges = number(1, 2); ranges > 0; --ranges) {
    const int64_t before = number(0, 2) * step;
    result.touched.push_back({.first = -before,
                              .last = width - 1 - before,
                              .step = step,
                              .item_step = size + number(0, 3),
                              .least = 0,
                              .most = size - 1});
  }
  return result;
}

TEST(TileRows, ElementsAreTheHullOfTheRows) {
  std::mt19937_64 rng(1);
  for (int round = 0; round < 300; ++round) {
    const Rows rows = random_rows(rng);
    for (int64_t begin = 0; begin < rows.count.all; ++begin) {
      Interval expected;
      for (int64_t end = begin + 1; end <= rows.count.all; ++end) {
        expected = hull(expected, rows.of(end - 1));
        const Interval actual = elements_of(rows.touched, rows.count, {begin, end});
        ASSERT_TRUE(actual == expected || (actual.empty() && expected.empty())) << begin << " to " << end;
      }
    }
  }
}

TEST(TileRows, RowsAreAllThatTouchTheElements) {
  std::mt19937_64 rng(2);
  int checked = 0;
  for (int round = 0; round < 300; ++round) {
    const Rows rows = random_rows(rng);
    bool has_empty = false;
    for (int64_t row = 0; row < rows.count.all; ++row) {
      has_empty |= rows.of(row).empty();
    }
    if (has_empty || !goes_up(rows.touched, rows.count)) {
      continue;
    }
    const int64_t last = rows.of(rows.count.all - 1).end;
    for (int64_t begin = 0; begin < last; ++begin) {
      for (int64_t end = begin + 1; end <= last; end += 3) {
        const Interval found = rows_of(rows.touched, rows.count, {begin, end});
        for (int64_t row = 0; row < rows.count.all; ++row) {
          const Interval each = rows.of(row);
          const bool touches = each.begin < end && each.end > begin;
          ASSERT_TRUE(!touches || (row >= found.begin && row < found.end)) << row << " of " << begin << " to " << end;
        }
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 10000);
}

}  // namespace
}  // namespace tenon::runtime::tile_rows_test
