// Regions are settled for good, and the verifier sees where one is not.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "runtime/tiles/choose_tiles.h"
#include "runtime/tiles/tile_walk.h"

namespace tenon::runtime::settle_tiles_test {
namespace {

class Numbers {
 public:
  explicit Numbers(uint64_t seed) : rng_(seed) {}
  int64_t operator()(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(rng_() % static_cast<uint64_t>(high - low + 1));
  }

 private:
  std::mt19937_64 rng_;
};

/// A layer of images: what its window reads of the layer before it.
struct Layer {
  int64_t rows = 0;   // of an image
  int64_t width = 0;  // elements of a row
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t pad = 0;
};

/// Layers one behind the other over `items` images, the first of which reads what is outside of the region. A layer
/// may also be read outside, or by the last layer too.
TiledRegion region_of(const std::vector<Layer>& layers, int64_t items, int read_outside, int skip) {
  TiledRegion region{.first_step = 0, .steps = static_cast<int>(layers.size())};
  for (size_t i = 0; i < layers.size(); ++i) {
    const Layer& layer = layers[i];
    const bool is_last = i + 1 == layers.size();
    region.buffers.push_back({.slot = static_cast<int>(i),
                              .elements = items * layer.rows * layer.width,
                              .inside = !is_last && static_cast<int>(i) != read_outside});
    RegionStage stage{.part = static_cast<int>(i),
                      .rows = {.rows = layer.rows, .all = items * layer.rows},
                      .work = static_cast<double>(10 + i),
                      .is_root = is_last || static_cast<int>(i) == read_outside,
                      .first_use = static_cast<uint32_t>(region.uses.size())};
    const auto use = [&](int buffer, bool writes, const TouchedRow& touched) {
      region.uses.push_back(
          {.buffer = buffer, .writes = writes, .first = static_cast<uint32_t>(region.touched.size()), .count = 1});
      region.touched.push_back(touched);
    };
    if (i > 0) {
      const Layer& before = layers[i - 1];
      use(static_cast<int>(i) - 1, false,
          {.first = -layer.pad * before.width,
           .last = (layer.kernel - layer.pad) * before.width - 1,
           .step = layer.stride * before.width,
           .item_step = before.rows * before.width,
           .least = 0,
           .most = before.rows * before.width - 1});
    }
    if (is_last && skip >= 0 && layers[static_cast<size_t>(skip)].rows == layer.rows) {
      const int64_t width = layers[static_cast<size_t>(skip)].width;
      use(skip, false, {.first = 0, .last = width - 1, .step = width, .item_step = layer.rows * width});
    }
    use(static_cast<int>(i), true,
        {.first = 0, .last = layer.width - 1, .step = layer.width, .item_step = layer.rows * layer.width});
    stage.uses = static_cast<uint32_t>(region.uses.size()) - stage.first_use;
    region.stages.push_back(stage);
  }
  region.driver = static_cast<int>(layers.size()) - 1;
  return region;
}

TiledRegion random_region(Numbers& number) {
  std::vector<Layer> layers{{.rows = number(6, 40), .width = number(1, 9)}};
  for (int64_t count = number(1, 4); count > 0; --count) {
    Layer next{.width = number(1, 9), .kernel = number(1, 4), .stride = number(1, 2)};
    next.pad = number(0, next.kernel - 1);
    next.rows = (layers.back().rows + 2 * next.pad - next.kernel) / next.stride + 1;
    if (next.rows < 2) {
      break;
    }
    layers.push_back(next);
  }
  const auto last = static_cast<int64_t>(layers.size()) - 1;
  return region_of(layers, number(1, 4), static_cast<int>(number(-2, last)), static_cast<int>(number(-2, last - 1)));
}

TEST(SettleTiles, SettledRegionsPassTheVerifier) {
  Numbers number(2);
  int settled = 0;
  for (int round = 0; round < 3000; ++round) {
    TiledRegion region = random_region(number);
    const int64_t all = region.driving().rows.all;
    region.tile = number(1, all);
    region.strips = number(1, std::min<int64_t>(all, 5));
    region.workers = region.strips;
    if (settle_tiles(region)) {
      ++settled;
      ASSERT_TRUE(verify_tiles(region)) << "round " << round;
    }
  }
  EXPECT_GT(settled, 1500);
}

TEST(SettleTiles, TilesAreCountedAsTheyAreCut) {
  for (int64_t rows = 1; rows < 40; ++rows) {
    TiledRegion region = region_of({{.rows = rows, .width = 1}}, 1, -1, -1);
    for (region.tile = 1; region.tile < 12; ++region.tile) {
      for (region.strips = 1; region.strips <= rows; ++region.strips) {
        int64_t tiles = 0;
        for (int64_t i = 0; i < region.strips; ++i) {
          ASSERT_EQ(region.tiles_before(i), tiles)
              << rows << " rows, " << region.strips << " strips of " << region.tile;
          tiles += (region.strip(i).size() + region.tile - 1) / region.tile;
        }
        ASSERT_EQ(region.tiles(), tiles);
      }
    }
  }
}

TEST(SettleTiles, TheVerifierSeesWindowsThatAreTooSmall) {
  TiledRegion region = region_of({{.rows = 100, .width = 64},
                                  {.rows = 100, .width = 64, .kernel = 3, .stride = 1, .pad = 1},
                                  {.rows = 100, .width = 64, .kernel = 3, .stride = 1, .pad = 1}},
                                 1, -1, -1);
  region.tile = 10;
  region.strips = region.workers = 4;
  ASSERT_TRUE(settle_tiles(region));
  EXPECT_TRUE(verify_tiles(region));
  region.buffers[0].window /= 4;
  EXPECT_FALSE(verify_tiles(region));
}

TEST(SettleTiles, TheVerifierSeesRowsThatTwoStripsWrite) {
  // The first layer is read outside and with a halo by the second: strips compute rows of it twice, in windows.
  TiledRegion region =
      region_of({{.rows = 100, .width = 64}, {.rows = 100, .width = 64, .kernel = 3, .stride = 1, .pad = 1}}, 1, 0, -1);
  region.tile = 10;
  region.strips = region.workers = 4;
  ASSERT_TRUE(settle_tiles(region));
  EXPECT_TRUE(region.buffers[0].copied);
  EXPECT_TRUE(verify_tiles(region));
  region.buffers[0].copied = false;
  EXPECT_FALSE(verify_tiles(region));
}

}  // namespace
}  // namespace tenon::runtime::settle_tiles_test
