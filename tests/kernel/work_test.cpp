// What is counted as work, where elements are far from alike.
#include "kernel/facts/work.h"

#include <gtest/gtest.h>

#include "kernel/facts/kernel_facts.h"
#include "support/loop_builder.h"
#include "support/loop_kernels.h"
#include "tenon/bindings.h"

namespace tenon::loops::work_test {
namespace {

const Extent kN = Extent::name("n");

/// Tiles of 4096 of n elements that lie `apart` from one another.
Kernel copy_kernel(const Extent& apart, Dtype dtype = f32) {
  LoopBuilder k("copy");
  const int t = k.axis("t", ceildiv(kN, 4096));
  const int i = k.tile("i", 4096, t, kN, true);
  const int x = k.input(dtype, kN * apart);
  const int y = k.output(dtype, kN);
  k.phase({t}, [&] {
    k.loop(i, [&] { k.store(y, affine({{t, 4096}, {i, 1}}), k.load(x, affine({{t, 4096 * apart}, {i, apart}}))); });
  });
  return k.kernel();
}

int64_t work_at(const Kernel& kernel, int64_t n) { return evaluate(work(kernel, kernel.phases[0]), {{"n", n}}); }

TEST(Work, CountsTheElementsThatATileHas) {
  const Kernel kernel = copy_kernel(1);
  EXPECT_EQ(work_at(kernel, 32) * 128, work_at(kernel, 4096));
  EXPECT_EQ(work_at(kernel, 4096), work_at(kernel, 100000));
}

TEST(Work, LanesThatLieApartCostMore) { EXPECT_GT(work_at(copy_kernel(7), 4096), 4 * work_at(copy_kernel(1), 4096)); }

/// As many more of them fit into a vector.
TEST(Work, SmallElementsCostLess) {
  const int64_t of_f32 = work_at(copy_kernel(1), 4096);
  EXPECT_EQ(work_at(copy_kernel(1, f64), 4096), 2 * of_f32);
  EXPECT_EQ(4 * work_at(copy_kernel(1, u8), 4096), of_f32);
  EXPECT_EQ(static_cast<double>(of_f32) * kByteOperation, 2 * 4096);  // a load and a store
}

/// Their time is that of the other operand.
TEST(Work, FewRowsOfAProductCostAsMuchAsSome) {
  const Kernel kernel = product_kernel(f32, f32);
  EXPECT_EQ(work_at(kernel, 1), work_at(kernel, 4));
  EXPECT_EQ(work_at(kernel, 32), 8 * work_at(kernel, 4));
  EXPECT_EQ(static_cast<double>(work_at(kernel, 32)) * kByteOperation, 32 * 64 * 256);
}

}  // namespace
}  // namespace tenon::loops::work_test
