// What is counted as work, where elements are far from alike.
#include "kernel/facts/work.h"

#include <gtest/gtest.h>

#include "kernel/facts/kernel_facts.h"
#include "kernel/product/product.h"
#include "support/loop_builder.h"
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

/// n rows of 64 by a matrix of 64 by 256.
Kernel product_kernel() {
  LoopBuilder k("product");
  const int row = k.axis("r", kN);
  const int column = k.axis("c", 256);
  const int depth = k.axis("d", 64);
  const int left = k.input(f32, kN * 64);
  const int right = k.input(f32, 64 * 256);
  const int out = k.output(f32, kN * 256);
  const int work = k.buffer(u8, Role::scratch, kProductScratchBytes);
  const auto matrix = [](int buffer, int64_t columns) {
    return Matrix{.buffer = buffer, .at = {}, .row = columns, .column = 1};
  };
  k.phase({}, [&] {
    k.product({.left = matrix(left, 64),
               .right = matrix(right, 256),
               .tile = matrix(out, 256),
               .rows = {row},
               .columns = {column},
               .depth = {depth},
               .work = work});
  });
  return k.kernel();
}

/// Their time is that of the other operand.
TEST(Work, FewRowsOfAProductCostAsMuchAsSome) {
  const Kernel kernel = product_kernel();
  EXPECT_EQ(work_at(kernel, 1), work_at(kernel, 4));
  EXPECT_EQ(work_at(kernel, 32), 8 * work_at(kernel, 4));
  EXPECT_EQ(static_cast<double>(work_at(kernel, 32)) * kByteOperation, 32 * 64 * 256);
}

}  // namespace
}  // namespace tenon::loops::work_test
