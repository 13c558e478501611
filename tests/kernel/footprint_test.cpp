// Footprints of hand-built loops, as they read.
#include "kernel/facts/footprint.h"

#include <gtest/gtest.h>

#include "support/loop_builder.h"
#include "tenon/bindings.h"

namespace tenon::loops::footprint_test {
namespace {

const Extent kH = Extent::name("h");
const Extent kBegin = Extent::name("begin");
const Extent kEnd = Extent::name("end");

/// What is read of buffer 0 while the first axis of the grid goes from `begin` to `end`.
struct Read {
  Extent first;
  Extent last;
};
Read read_by(const Kernel& kernel) {
  const std::vector<BufferUse> uses = footprints(kernel, kernel.phases.at(0), {.axis = kernel.phases.at(0).grid.at(0)});
  EXPECT_EQ(uses.at(0).reads.ranges.size(), 1u);
  EXPECT_TRUE(uses.at(0).writes.empty());
  const Touched& read = uses.at(0).reads.ranges.at(0);
  return {first_touched(read, 0, kBegin, kEnd), last_touched(read, 0, kBegin, kEnd)};
}

int64_t at(const Extent& extent, int64_t begin, int64_t end) {
  return evaluate(extent, {{"h", 10}, {"begin", begin}, {"end", end}});
}

/// Rows of 32 that windows of 3 rows read: one more at both ends, but for the ends of the image.
TEST(Footprint, OfWindowsHasAHalo) {
  LoopBuilder k("window");
  const int h = k.axis("h", kH);
  const int t = k.axis("t", 3);
  const int w = k.vector_axis("w", 32);
  const int x = k.input(f32, 32 * kH);
  const int y = k.output(f32, 32 * kH);
  k.phase({h}, [&] {
    k.loop(w, [&] {
      const int sum = k.reduce(t, ReduceOp::sum, f32, [&] {
        return k.load(x, affine({{h, 32}, {t, 32}, {w, 1}}, -32),
                      {{.index = affine({{h, 1}, {t, 1}}, -1), .size = kH}});
      });
      k.store(y, affine({{h, 32}, {w, 1}}), sum);
    });
  });
  const Read read = read_by(k.kernel());
  EXPECT_EQ(at(read.first, 0, 1), 0);
  EXPECT_EQ(at(read.last, 0, 1), 2 * 32 - 1);
  EXPECT_EQ(at(read.first, 4, 6), 3 * 32);
  EXPECT_EQ(at(read.last, 4, 6), 7 * 32 - 1);
  EXPECT_EQ(at(read.first, 9, 10), 8 * 32);
  EXPECT_EQ(at(read.last, 9, 10), 10 * 32 - 1);
}

Kernel tiled(const Extent& scale, const Extent& base) {
  LoopBuilder k("tiled");
  const int t = k.axis("t", ceildiv(kH, 4));
  const int i = k.tile("i", 4, t, kH, true);
  const int x = k.input(f32, kH);
  const int y = k.output(f32, kH);
  k.phase({t}, [&] {
    k.loop(i, [&] { k.store(y, affine({{t, 4}, {i, 1}}), k.load(x, affine({{t, 4 * scale}, {i, scale}}, base))); });
  });
  return k.kernel();
}

TEST(Footprint, OfTilesEndsWhereTheLastOneDoes) {
  const Read read = read_by(tiled(1, 0));
  EXPECT_EQ(at(read.first, 0, 2), 0);
  EXPECT_EQ(at(read.last, 0, 2), 7);
  EXPECT_EQ(at(read.first, 2, 3), 8);
  EXPECT_EQ(at(read.last, 2, 3), 9) << "of a tile of 2";
}

TEST(Footprint, OfWhatIsReadBackwardsBeginsWithTheLast) {
  const Read read = read_by(tiled(-1, kH - 1));
  EXPECT_EQ(at(read.first, 0, 2), 2);
  EXPECT_EQ(at(read.last, 0, 2), 9);
  EXPECT_EQ(at(read.first, 2, 3), 0);
  EXPECT_EQ(at(read.last, 2, 3), 1);
}

TEST(Footprint, OfWhatDataDecidesIsAllThereIs) {
  LoopBuilder k("gather");
  const int i = k.axis("i", kH);
  const int x = k.input(f32, kH);
  const int from = k.input(i64, kH);
  const int y = k.output(f32, kH);
  const int site = k.site("out of range");
  k.phase({i}, [&] {
    const int position = k.load(from, affine({{i, 1}}));
    k.store(y, affine({{i, 1}}), k.load(x, {}, {}, {{.value = position, .stride = 1, .size = kH, .site = site}}));
  });
  const std::vector<BufferUse> uses = footprints(k.kernel(), k.kernel().phases[0], {.axis = i});
  EXPECT_TRUE(uses[static_cast<size_t>(x)].reads.whole);
  EXPECT_FALSE(uses[static_cast<size_t>(from)].reads.whole);
  EXPECT_FALSE(uses[static_cast<size_t>(y)].writes.whole);
}

}  // namespace
}  // namespace tenon::loops::footprint_test
