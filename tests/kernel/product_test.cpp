// Products as obvious loops, and the driver of blocked ones over kernels written in C++.
#include "kernel/product/product.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "base/aligned.h"
#include "kernel/product/product_blocked.h"
#include "support/product_case.h"

namespace tenon::product_test {
namespace {

TEST(ReferenceProduct, MultipliesByHand) {
  const std::array<float, 6> left = {1, 2, 3, 4, 5, 6};
  const std::array<float, 6> right = {1, -1, 0.5f, 2, 0, 10};
  std::array<float, 6> tile = {100, 100, -1, 100, 100, -1};
  ProductCall call{.left = left.data(),
                   .left_row = 3,
                   .right = right.data(),
                   .right_depth = 2,
                   .tile = tile.data(),
                   .tile_row = 3,
                   .rows = 2,
                   .columns = 2,
                   .depth = 3};
  reference_product({}, call);
  EXPECT_EQ(tile, (std::array<float, 6>{2, 33, -1, 6.5f, 66, -1}));
  call.accumulate = 1;
  reference_product({}, call);
  EXPECT_EQ(tile, (std::array<float, 6>{4, 66, -1, 13, 132, -1}));
}

TEST(ReferenceProduct, ReadsPanelsAndTransposedOperands) {
  const std::array<double, 4> left = {1, 3, 2, 4};                // columns first: [[1, 2], [3, 4]]
  const std::array<double, 8> right = {5, 6, 8, 9, 7, 0, 10, 0};  // [[5, 6, 7], [8, 9, 10]] in panels of 2
  std::array<double, 6> tile = {};
  reference_product({Dtype::f64, Dtype::f64, Dtype::f64}, {.left = left.data(),
                                                           .left_row = 1,
                                                           .left_depth = 2,
                                                           .right = right.data(),
                                                           .right_depth = 2,
                                                           .panel = 2,
                                                           .right_panel = 4,
                                                           .tile = tile.data(),
                                                           .tile_row = 3,
                                                           .rows = 2,
                                                           .columns = 3,
                                                           .depth = 2});
  EXPECT_EQ(tile, (std::array<double, 6>{21, 24, 27, 47, 54, 61}));
}

TEST(ReferenceProduct, RoundsOnceAndWraps) {
  // 1 + 2^-12 squared is 1 + 2^-11 + 2^-24: one rounding keeps what two lose.
  const float a = 1 + 0x1p-12f;
  float sum = -(1 + 0x1p-11f);
  const ProductCall call{.left = &a, .right = &a, .tile = &sum, .rows = 1, .columns = 1, .depth = 1, .accumulate = 1};
  reference_product({}, call);
  EXPECT_EQ(sum, 0x1p-24f);

  const int8_t low = -128;
  int32_t most = std::numeric_limits<int32_t>::max();
  reference_product({Dtype::i8, Dtype::i8, Dtype::i32},
                    {.left = &low, .right = &low, .tile = &most, .rows = 1, .columns = 1, .depth = 1, .accumulate = 1});
  EXPECT_EQ(most, std::numeric_limits<int32_t>::min() + 16383);
}

TEST(ReferenceProduct, KnowsEveryKind) {
  for (const ProductKind& kind : product_kinds()) {
    EXPECT_TRUE(is_product(kind.types));
    EXPECT_EQ(difference(kind.types, {.rows = 2, .columns = 3, .depth = 4},
                         [&](const ProductCall& call) { reference_product(kind.types, call); }),
              "");
  }
  EXPECT_FALSE(is_product({Dtype::f32, Dtype::f64, Dtype::f64}));
}

// A machine with vectors of 4 floats and tiles of 3 rows, or 5 where they are one vector wide.
constexpr int kLanes = 4;
constexpr int kRows = 3;
constexpr int kTallRows = 5;
constexpr int kPanel = 2 * kLanes;

template <int Rows, bool Masks>
void tile(const void* left, const void* right, void* result, int64_t columns, const ProductSteps* steps) {
  const int64_t read = Masks ? columns : (columns + kLanes - 1) / kLanes * kLanes;
  const auto element = [](const void* base, int64_t bytes) {
    return reinterpret_cast<const float*>(static_cast<const std::byte*>(base) + bytes);
  };
  for (int row = 0; row < Rows; ++row) {
    auto* const sums = reinterpret_cast<float*>(static_cast<std::byte*>(result) + row * steps->tile_row);
    for (int64_t column = 0; column < read; ++column) {
      float sum = steps->accumulate != 0 && column < columns ? sums[column] : 0;
      for (int64_t k = 0; k < steps->depth; ++k) {
        sum = std::fma(*element(left, row * steps->left_row + k * steps->left_depth),
                       element(right, k * steps->right_depth)[column], sum);
      }
      if (column < columns) sums[column] = sum;
    }
  }
}

template <int Panels, bool Masks>
void across(const void* left, const void* right, void* result, int64_t columns, const ProductSteps* steps) {
  EXPECT_EQ(columns, Panels * kPanel);
  for (int64_t i = 0; i < Panels; ++i) {
    tile<1, Masks>(left, static_cast<const std::byte*>(right) + i * steps->right_panel,
                   static_cast<float*>(result) + i * kPanel, kPanel, steps);
  }
}

template <int Rows, bool Masks>
void pair(const void* left, const void* right, void* result, int64_t columns, const ProductSteps* steps) {
  EXPECT_EQ(columns, 2 * kPanel);
  for (int64_t i = 0; i < 2; ++i) {
    tile<Rows, Masks>(left, static_cast<const std::byte*>(right) + i * steps->right_panel,
                      static_cast<float*>(result) + i * kPanel, kPanel, steps);
  }
}

int packs = 0;  // how often a part of a right operand was packed

template <bool ByRows>
void pack(const void* from, int64_t step, void* to, int64_t columns, int64_t depth) {
  ++packs;
  for (int64_t k = 0; k < depth; ++k) {
    for (int64_t column = 0; column < columns; ++column) {
      const int64_t offset = ByRows ? k * step + column * 4 : column * step + k * 4;
      static_cast<float*>(to)[k * kPanel + column] =
          *reinterpret_cast<const float*>(static_cast<const std::byte*>(from) + offset);
    }
  }
}

template <bool Masks>
ProductKernels small_machine() {
  ProductKernels kernels{.lanes = kLanes,
                         .rows = kRows,
                         .tall_rows = kTallRows,
                         .panel = kPanel,
                         .masks = Masks,
                         .left_bytes = 4,
                         .right_bytes = 4,
                         .pack_rows = pack<true>,
                         .pack_columns = pack<false>};
  const std::array<ProductMicro, kTallRows + 1> tiles = {nullptr,        tile<1, Masks>, tile<2, Masks>,
                                                         tile<3, Masks>, tile<4, Masks>, tile<5, Masks>};
  for (size_t rows = 1; rows <= kRows; ++rows) {
    kernels.widths[rows] = 3;
    for (const int vectors : {1, 2, 4}) {
      kernels.tiles[rows][static_cast<size_t>(vectors / 2)] = {vectors, tiles[rows],
                                                               vectors > 2 ? nullptr : tiles[rows]};
    }
  }
  for (size_t rows = kRows + 1; rows <= kTallRows; ++rows) {
    kernels.widths[rows] = 1;
    kernels.tiles[rows][0] = {1, tiles[rows], tiles[rows]};
  }
  kernels.panels[2] = across<2, Masks>;
  kernels.panels[4] = across<4, Masks>;
  if (Masks) {
    kernels.pair_rows = 2;
    kernels.pairs[1] = pair<1, Masks>;
    kernels.pairs[2] = pair<2, Masks>;
  }
  return kernels;
}

class BlockedProduct : public testing::TestWithParam<bool> {
 protected:
  void expect_right(const ProductCase& c, const ProductCaches& caches = {}) {
    const auto free = [](std::byte* block) { free_aligned(block); };
    const std::unique_ptr<std::byte, decltype(free)> scratch(allocate_aligned(kProductScratchBytes), free);
    ProductKernels kernels = GetParam() ? small_machine<true>() : small_machine<false>();
    kernels.caches = caches;
    EXPECT_EQ(difference({}, c, [&](const ProductCall& call) { blocked_product(kernels, {}, call, scratch.get()); }),
              "");
  }
};

TEST_P(BlockedProduct, IsRightAroundEveryEdge) {
  for (const int64_t rows : {0, 1, 2, 3, 4, 5, 6, 7, 11, 25}) {
    for (const int64_t columns : {0, 1, 3, 4, 5, 8, 9, 15, 16, 17, 40}) {
      for (const int64_t depth : {0, 1, 3, 4, 5, 17}) {
        for (const int mode : {0, 1, 2, 3}) {
          expect_right({.rows = rows,
                        .columns = columns,
                        .depth = depth,
                        .left_transposed = (mode & 1) != 0,
                        .right_transposed = (mode & 2) != 0,
                        .gap = rows % 3,
                        .accumulate = columns % 2 == 1});
        }
      }
    }
  }
}

TEST_P(BlockedProduct, IsRightOverSeveralBlocks) {
  for (const int mode : {0, 1, 2, 3}) {
    expect_right({.rows = 70,
                  .columns = 301,
                  .depth = 1037,
                  .left_transposed = (mode & 1) != 0,
                  .right_transposed = (mode & 2) != 0,
                  .accumulate = mode == 1});
  }
}

/// What is read in place has to stay in the second cache from one tile of rows to the next, or is copied.
TEST_P(BlockedProduct, IsCutForTheCachesOfItsMachine) {
  const ProductCase c{.rows = 16, .columns = 16, .depth = 16};
  packs = 0;
  expect_right(c, {.second = 16 * 16 * 4});
  EXPECT_EQ(packs, 0);
  expect_right(c, {.second = 16 * 16 * 3});
  EXPECT_GT(packs, 0);
  for (const ProductCaches caches : {ProductCaches{.first = 1, .second = 1}, {.first = 1 << 30, .second = 1 << 30}}) {
    for (const bool transposed : {false, true}) {
      expect_right({.rows = 30, .columns = 70, .depth = 300, .left_transposed = transposed}, caches);
    }
  }
}

TEST_P(BlockedProduct, IsRightWhereRowsCollideInCaches) {
  for (const int64_t rows : {25, 27, 70}) {
    for (const int64_t columns : {31, 32, 301, 700}) {
      expect_right({.rows = rows, .columns = columns, .depth = 512, .accumulate = columns == 301});
    }
  }
  expect_right({.rows = 29, .columns = 64, .depth = 509, .gap = 3});
}

TEST_P(BlockedProduct, ReadsPanels) {
  for (const int64_t panel : {4, 5, 8, 24}) {
    for (const int64_t rows : {1, 8}) {
      for (const int64_t panels : {1, 2, 3, 4, 7}) {
        expect_right({.rows = rows, .columns = panels * panel, .depth = 9, .gap = 2, .panel = panel});
        expect_right({.rows = rows, .columns = panels * panel + 1, .depth = 9, .gap = 2, .panel = panel});
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, BlockedProduct, testing::Bool(),
                         [](const auto& row) { return std::string(row.param ? "masks" : "whole_vectors"); });

}  // namespace
}  // namespace tenon::product_test
