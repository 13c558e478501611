// Products among loops: as text, as verify() wants them, and in the interpreter of loops.
#include <gtest/gtest.h>

#include <cmath>

#include "kernel/loop/loop_run.h"
#include "support/arrays.h"
#include "support/loop_builder.h"
#include "support/loop_launch.h"
#include "tenon/error.h"

namespace tenon::loop_product_test {
namespace {

using loops::Product;
using loops::Role;

/// y = 2 * a b: rows in tiles of 4, k in blocks of 3. `change` gets the product before it is put in its place.
struct Doubled {
  Extent rows = Extent::name("rows");
  Extent cols = Extent::name("cols");
  Extent depth = Extent::name("depth");
  LoopBuilder k{"doubled"};
  int tiles = k.axis("t", ceildiv(rows, 4));
  int r = k.tile("r", 4, tiles, rows, false);
  int c = k.axis("c", cols);
  int blocks = k.axis("kb", max(Extent(1), ceildiv(depth, 3)));
  int d = k.tile("d", 3, blocks, depth, false);
  int a = k.input(f32, rows* depth);
  int b = k.input(f32, depth* cols);
  int y = k.output(f32, rows* cols);
  int tile = k.buffer(f32, Role::scratch, 4 * cols);
  int work = k.buffer(u8, Role::scratch, kProductScratchBytes);

  explicit Doubled(const std::function<void(Doubled&, Product&)>& change = {}) {
    Product product{.left = {.buffer = a, .at = affine({{tiles, 4 * depth}, {blocks, 3}}), .row = depth, .column = 1},
                    .right = {.buffer = b, .at = affine({{blocks, 3 * cols}}), .row = cols, .column = 1},
                    .tile = {.buffer = tile, .at = {}, .row = cols, .column = 1},
                    .rows = {r},
                    .columns = {c},
                    .depth = {d},
                    .adds_after = blocks,
                    .work = work};
    if (change) {
      change(*this, product);
    }
    k.phase({tiles}, [&] {
      k.loop(blocks, [&] { k.product(product); });
      k.loop(r, [&] {
        k.loop(c, [&] {
          const int sum = k.load(tile, affine({{r, cols}, {c, 1}}));
          k.store(y, affine({{tiles, 4 * cols}, {r, cols}, {c, 1}}), k.compute(Prim::add, {sum, sum}));
        });
      });
    });
  }
};

TEST(LoopProduct, Print) {
  EXPECT_EQ(to_string(Doubled().k.kernel()), R"(kernel doubled
  axes    t: (rows+3) floordiv 4   r: 4 tile t of rows   c: cols   kb: max((depth+2) floordiv 3, 1)   d: 3 tile kb of depth
  buffers b0 in f32[depth*rows]   b1 in f32[cols*depth]   b2 out f32[cols*rows]   b3 scratch f32[4*cols]   b4 scratch u8[524288]
  phase grid(t)
    loop kb
      b3[0 + (cols, 1)] += b0[4*depth*t + 3*kb + (depth, 1)] * b1[3*cols*kb + (cols, 1)] over r by c by d after the first kb
    loop r
      loop c
        v0 = load b3[cols*r + c]
        v1 = add v0, v0
        b2[4*cols*t + cols*r + c] = v1
)");
}

TEST(LoopProduct, PrintsPanels) {
  Doubled panels([](Doubled&, Product& product) { product.panel = 16; });
  EXPECT_NE(to_string(panels.k.kernel()).find("in panels of 16 over"), std::string::npos);
  Doubled together([](Doubled&, Product& product) { product.panel = 16, product.together = 4; });
  EXPECT_NE(to_string(together.k.kernel()).find("in panels of 16, 4 together over"), std::string::npos);
}

std::string complaint(const std::function<void(Doubled&, Product&)>& change) {
  try {
    verify(Doubled(change).k.kernel());
  } catch (const InternalError& error) {
    return error.what();
  }
  return "no complaint";
}

struct BrokenProduct {
  const char* name;
  const char* complaint;
  std::function<void(Doubled&, Product&)> change;
};

class LoopProductVerify : public testing::TestWithParam<BrokenProduct> {};

TEST_P(LoopProductVerify, Complains) {
  const std::string said = complaint(GetParam().change);
  EXPECT_NE(said.find(GetParam().complaint), std::string::npos) << said;
}

INSTANTIATE_TEST_SUITE_P(
    Rules, LoopProductVerify,
    testing::Values(
        BrokenProduct{"whole", "no complaint", [](Doubled&, Product&) {}},
        BrokenProduct{"no_left", "there is no buffer b9", [](Doubled&, Product& p) { p.left.buffer = 9; }},
        BrokenProduct{"no_right", "there is no buffer b-1", [](Doubled&, Product& p) { p.right.buffer = -1; }},
        BrokenProduct{"no_tile", "there is no buffer b9", [](Doubled&, Product& p) { p.tile.buffer = 9; }},
        BrokenProduct{"unwritten", "is read before it is written",
                      [](Doubled& k, Product& p) { p.left.buffer = k.k.buffer(f32, Role::scratch, 8); }},
        BrokenProduct{"into_input", "an input is written", [](Doubled& k, Product& p) { p.tile.buffer = k.a; }},
        BrokenProduct{"work_is_output", "b2 is no scratch", [](Doubled& k, Product& p) { p.work = k.y; }},
        BrokenProduct{"columns_apart", "the columns of the tile lie apart",
                      [](Doubled&, Product& p) { p.tile.column = 2; }},
        BrokenProduct{"types", "no product has these types",
                      [](Doubled& k, Product& p) { p.left.buffer = k.k.input(i64, 8); }},
        BrokenProduct{"blocks_not_bound", "the axis that counts blocks of k is not bound outside",
                      [](Doubled& k, Product& p) { p.adds_after = k.c; }},
        BrokenProduct{"axis_bound", "is bound outside, or there is none",
                      [](Doubled& k, Product& p) { p.rows = {k.tiles}; }},
        BrokenProduct{"no_axis", "axis 77 is bound outside, or there is none",
                      [](Doubled&, Product& p) { p.depth = {77}; }},
        BrokenProduct{"counter_not_bound", "the axis that counts tiles of axis",
                      [](Doubled& k, Product& p) { p.columns = {k.k.tile("o", 2, k.c, 4, false)}; }},
        BrokenProduct{"shorter_tile_inside", "the last tile of axis 6 of a product is shorter",
                      [](Doubled& k, Product& p) {
                        const int around = k.k.axis("o", 2);
                        p.depth = {around, k.k.tile("i", 3, k.blocks, 8, false)};
                      }},
        BrokenProduct{"equal_tiles_inside", "no complaint",
                      [](Doubled& k, Product& p) {
                        const int around = k.k.axis("o", 2);
                        p.depth = {around, k.k.tile("i", 3, k.blocks, 9, false)};
                      }},
        BrokenProduct{"address_not_bound", "is not bound",
                      [](Doubled& k, Product& p) { p.left.at = affine({{k.r, 1}}); }}),
    [](const auto& each) { return std::string(each.param.name); });

TEST(LoopProductVerify, NotInLanes) {
  LoopBuilder k("lanes");
  const int lane = k.vector_axis("l", 8);
  const int m = k.axis("m", 4);
  const int x = k.input(f32, 16);
  const int y = k.output(f32, 16);
  const int work = k.buffer(u8, Role::scratch, kProductScratchBytes);
  const auto matrix = [](int buffer) { return loops::Matrix{.buffer = buffer, .at = {}, .row = 4, .column = 1}; };
  k.phase({}, [&] {
    k.loop(lane, [&] {
      k.product({.left = matrix(x),
                 .right = matrix(x),
                 .tile = matrix(y),
                 .rows = {m},
                 .columns = {},
                 .depth = {},
                 .work = work});
    });
  });
  try {
    verify(k.kernel());
    FAIL() << "no complaint";
  } catch (const InternalError& error) {
    EXPECT_NE(std::string(error.what()).find("a product inside a vectorised loop"), std::string::npos) << error.what();
  }
}

/// Blocks of k one after the other give the bits of one long sum, tiles that are not whole included.
TEST(LoopProduct, RunsInTilesAndBlocks) {
  Doubled doubled;
  const loops::Kernel& kernel = doubled.k.kernel();
  const KernelEntry entry = loops::interpreted(kernel);
  for (const int64_t rows : {0, 1, 3, 4, 5, 9}) {
    for (const int64_t columns : {0, 1, 7}) {
      for (const int64_t depth : {0, 1, 2, 3, 4, 7}) {
        const Bindings bindings{{"rows", rows}, {"cols", columns}, {"depth", depth}};
        SCOPED_TRACE(bindings.to_string());
        std::vector<Array> buffers = make_buffers(kernel, bindings, 5);
        EXPECT_EQ(launch(kernel, entry, bindings, buffers, 1).failed, 0);
        const auto a = buffers[0].values<float>();
        const auto b = buffers[1].values<float>();
        for (int64_t i = 0; i < rows * columns; ++i) {
          float sum = 0;
          for (int64_t k = 0; k < depth; ++k) {
            sum = std::fma(a[static_cast<size_t>(i / columns * depth + k)],
                           b[static_cast<size_t>(k * columns + i % columns)], sum);
          }
          ASSERT_EQ(buffers[2].values<float>()[static_cast<size_t>(i)], 2 * sum);
        }
      }
    }
  }
}

}  // namespace
}  // namespace tenon::loop_product_test
