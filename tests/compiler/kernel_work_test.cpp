// What kernels compute and touch at sizes, counted by hand beside.
#include "compiler/kernel_work.h"

#include <gtest/gtest.h>

#include "kernel/scalar/prim_cost.h"
#include "support/loop_builder.h"
#include "support/loop_kernels.h"

namespace tenon::compiler::kernel_work_test {
namespace {

const Extent kN = Extent::name("n");

/// y = exp(x) * x of n elements in tiles of 8.
loops::Kernel elementwise(Dtype dtype) {
  LoopBuilder k("elementwise");
  const int t = k.axis("t", ceildiv(kN, 8));
  const int i = k.tile("i", 8, t, kN, true);
  const int x = k.input(dtype, kN);
  const int y = k.output(dtype, kN);
  k.phase({t}, [&] {
    k.loop(i, [&] {
      const int element = k.load(x, affine({{t, 8}, {i, 1}}));
      k.store(y, affine({{t, 8}, {i, 1}}), k.compute(Prim::mul, {k.compute(Prim::exp, {element}), element}));
    });
  });
  return k.kernel();
}

TEST(KernelWorkAtSizes, CountsEachElementOnceWhereTheLastTileIsShort) {
  for (const int64_t n : {0, 1, 7, 8, 9, 1000}) {
    const KernelWork work = work_at(elementwise(f32), {{"n", n}});
    const auto elements = static_cast<double>(n);
    EXPECT_DOUBLE_EQ(work.operations.f32, elements * (1 + cost(Prim::exp, Dtype::f32))) << n;
    EXPECT_EQ(work.operations.f64, 0) << n;
    EXPECT_DOUBLE_EQ(work.reads[0], elements) << n;
    EXPECT_DOUBLE_EQ(work.writes[1], elements) << n;
  }
}

TEST(KernelWorkAtSizes, TellsFloatsByTheirSizeAndLeavesIntegersOut) {
  EXPECT_GT(work_at(elementwise(f64), {{"n", 8}}).operations.f64, 0);
  LoopBuilder k("integers");
  const int i = k.axis("i", kN);
  const int x = k.input(i32, kN);
  const int y = k.output(i32, kN);
  k.phase({i}, [&] {
    const int element = k.load(x, affine({{i, 1}}));
    k.store(y, affine({{i, 1}}), k.compute(Prim::add, {element, element}));
  });
  const KernelWork work = work_at(k.kernel(), {{"n", 5}});
  EXPECT_EQ(work.operations.all(), 0);
  EXPECT_EQ(work.writes[1], 5);
}

TEST(KernelWorkAtSizes, ProductsAreTwoOperationsAStep) {
  constexpr double kWanted = 2.0 * 3 * 256 * 64;
  EXPECT_EQ(work_at(product_kernel(f32, f32), {{"n", 3}}).operations.f32, kWanted);
  EXPECT_EQ(work_at(product_kernel(f16, f32), {{"n", 3}}).operations.f32, kWanted);
  EXPECT_EQ(work_at(product_kernel(f64, f64), {{"n", 3}}).operations.f64, kWanted);
  EXPECT_EQ(work_at(product_kernel(bf16, f32), {{"n", 3}}).operations.bf16, kWanted);
  EXPECT_EQ(work_at(product_kernel(i8, i32), {{"n", 3}}).operations.i8, kWanted);
  const KernelWork work = work_at(product_kernel(f32, f32), {{"n", 3}});
  EXPECT_EQ(work.operations.all(), kWanted);
  EXPECT_EQ(work.reads[0], 3 * 64);
  EXPECT_EQ(work.reads[1], 64 * 256);
}

/// Rows that a lookup chooses of a large table: as many as are read, not all.
TEST(KernelWorkAtSizes, ReadsNoMoreThanTheLoopsSay) {
  LoopBuilder k("gather");
  const int i = k.axis("i", 4);
  const int table = k.input(f32, 1000);
  const int y = k.output(f32, 4);
  k.phase({i}, [&] { k.store(y, affine({{i, 1}}), k.load(table, affine({{i, 100}}))); });
  EXPECT_EQ(work_at(k.kernel(), {}).reads[0], 4);
}

}  // namespace
}  // namespace tenon::compiler::kernel_work_test
