#include "runtime/memory/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "support/error_text.h"

namespace tenon::runtime::arena_test {
namespace {

int64_t most_live(const std::vector<Block>& blocks) {
  int64_t most = 0;
  for (int time = 0; time < 30; ++time) {
    int64_t live = 0;
    for (const Block& block : blocks) {
      live += block.first <= time && time <= block.last ? block.bytes : 0;
    }
    most = std::max(most, live);
  }
  return most;
}

TEST(Arena, AChainNeedsTwoBlocks) {
  std::vector<Block> blocks;
  for (int i = 0; i < 10; ++i) {
    blocks.push_back({.bytes = 1000, .first = i, .last = i + 1});
  }
  std::vector<int64_t> offsets(blocks.size());
  EXPECT_EQ(place(blocks, offsets).bytes, 2 * 1024);
}

TEST(Arena, SmallBlocksFillTheGapsOfLargeOnes) {
  const std::vector<Block> blocks = {{6400, 0, 1}, {3200, 2, 3}, {3200, 3, 4}, {64, 0, 4}};
  std::vector<int64_t> offsets(blocks.size());
  EXPECT_EQ(place(blocks, offsets).bytes, 6464);
  EXPECT_EQ(offsets, (std::vector<int64_t>{0, 0, 3200, 6400}));
}

TEST(Arena, NothingNeedsNothing) {
  const std::vector<Block> blocks = {{0, 0, 5}, {0, 0, 5}};
  std::vector<int64_t> offsets(blocks.size());
  EXPECT_EQ(place(blocks, offsets).bytes, 0);
  EXPECT_EQ(place({}, {}).bytes, 0);
}

TEST(Arena, BlocksThatLiveAtOnceNeverOverlap) {
  std::mt19937 rng(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<Block> blocks(rng() % 60);
    int64_t sum = 0;
    for (Block& block : blocks) {
      const int first = static_cast<int>(rng() % 20);
      block = {
          .bytes = static_cast<int64_t>(rng() % 5000), .first = first, .last = first + static_cast<int>(rng() % 5)};
      sum += (block.bytes + 63) / 64 * 64;
    }
    std::vector<int64_t> offsets(blocks.size());
    const auto [total, live] = place(blocks, offsets);
    EXPECT_EQ(live, most_live(blocks));
    EXPECT_GE(total, live);
    EXPECT_LE(total, sum);
    for (size_t i = 0; i < blocks.size(); ++i) {
      ASSERT_EQ(offsets[i] % kArenaAlignment, 0);
      ASSERT_LE(offsets[i] + blocks[i].bytes, total);
      for (size_t j = 0; j < i; ++j) {
        const bool at_once = blocks[i].first <= blocks[j].last && blocks[j].first <= blocks[i].last;
        const bool overlap = offsets[i] < offsets[j] + blocks[j].bytes && offsets[j] < offsets[i] + blocks[i].bytes;
        ASSERT_FALSE(at_once && overlap) << "round " << round << ": blocks " << j << " and " << i;
      }
    }
  }
}

TEST(Arena, RefusesWhatDoesNotFit) {
  const int64_t huge = std::numeric_limits<int64_t>::max() / 8;
  const std::vector<Block> blocks(100, {.bytes = huge, .first = 0, .last = 1});
  std::vector<int64_t> offsets(blocks.size());
  EXPECT_EQ(error_text([&] { place(blocks, offsets); }), "the intermediates do not fit in 64 bits of memory");
}

}  // namespace
}  // namespace tenon::runtime::arena_test
