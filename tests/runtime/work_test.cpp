// What is counted as work, where elements are far from alike.
#include "runtime/work.h"

#include <gtest/gtest.h>

#include "support/loop_builder.h"
#include "tenon/bindings.h"

namespace tenon::runtime {
namespace {

const Extent kN = Extent::name("n");

/// Tiles of 4096 of n elements that lie `apart` from one another.
loops::Kernel copy_kernel(const Extent& apart) {
  LoopBuilder k("copy");
  const int t = k.axis("t", ceildiv(kN, 4096));
  const int i = k.tile("i", 4096, t, kN, true);
  const int x = k.input(f32, kN * apart);
  const int y = k.output(f32, kN);
  k.phase({t}, [&] {
    k.loop(i, [&] { k.store(y, affine({{t, 4096}, {i, 1}}), k.load(x, affine({{t, 4096 * apart}, {i, apart}}))); });
  });
  return k.kernel();
}

int64_t work_at(const loops::Kernel& kernel, int64_t n) { return evaluate(work(kernel, kernel.phases[0]), {{"n", n}}); }

TEST(Work, CountsTheElementsThatATileHas) {
  const loops::Kernel kernel = copy_kernel(1);
  EXPECT_EQ(work_at(kernel, 32) * 128, work_at(kernel, 4096));
  EXPECT_EQ(work_at(kernel, 4096), work_at(kernel, 100000));
}

TEST(Work, LanesThatLieApartCostMore) { EXPECT_GT(work_at(copy_kernel(7), 4096), 4 * work_at(copy_kernel(1), 4096)); }

}  // namespace
}  // namespace tenon::runtime
