// How many lanes and vectors a step of a loop has.
#include "codegen/emit/vector_plan.h"

#include <gtest/gtest.h>

namespace tenon::codegen::vector_plan_test {
namespace {

/// Rows of `length`, squared, and stored or added up.
struct Squares {
  loops::Kernel kernel;
  loops::Loop loop{.axis = 1, .begins = {}, .body = {}};

  explicit Squares(const Extent& length, bool adds_up = false) {
    const Extent rows = Extent::name("rows");
    kernel.axes = {{.extent = rows, .name = "i"}, {.extent = length, .name = "j", .binding = loops::Binding::lanes}};
    kernel.buffers = {{.dtype = Dtype::f32, .role = loops::Role::input, .elements = rows * length},
                      {.dtype = Dtype::f32, .role = loops::Role::output, .elements = rows * length}};
    const loops::Affine at = {.base = 0, .terms = {{0, length}, {1, 1}}};
    kernel.values = {
        {.what = loops::Load{.buffer = 0, .at = at, .inside = {}, .lookups = {}}},
        {.what = loops::Compute{.prim = Prim::mul, .operand_dtype = Dtype::f32, .operands = {0, 0}, .literal = {}}}};
    loop.body.push_back({loops::Define{0}});
    loop.body.push_back({loops::Define{1}});
    if (adds_up) {
      kernel.accumulators = {{.op = ReduceOp::sum, .dtype = Dtype::f32, .input = 1}};
      loop.begins = {0};
      loop.body.push_back({loops::Accumulate{0}});
    } else {
      loop.body.push_back({loops::Store{.buffer = 1, .at = at, .inside = {}, .value = 1}});
    }
  }

  unsigned unroll(const char* target, bool fetches_parts = false) const {
    return plan_vector_loop(kernel, loop, target_of(machine_named(target)), fetches_parts).unroll;
  }
};

TEST(VectorPlan, ALoopThatStoresTakesALineAStep) {
  const Squares squares(Extent::name("n"));
  EXPECT_EQ(squares.unroll("x86-64-v4"), 1u);
  EXPECT_EQ(squares.unroll("x86-64-v3"), 2u);
  EXPECT_EQ(squares.unroll("x86-64-v2"), 4u);
  EXPECT_EQ(squares.unroll("armv8.2"), 4u);
}

TEST(VectorPlan, AFunctionOfShortVectorsTakesFourOfThemAStep) {
  Squares functions(Extent::name("n"));
  functions.kernel.values[1].what =
      loops::Compute{.prim = Prim::erf, .operand_dtype = Dtype::f32, .operands = {0}, .literal = {}};
  EXPECT_EQ(functions.unroll("x86-64-v4"), 2u);
  EXPECT_EQ(functions.unroll("armv8.2"), 4u);
}

TEST(VectorPlan, ALoopThatAddsUpTakesFourVectorsAStep) {
  const Squares sums(Extent::name("n"), /*adds_up=*/true);
  for (const char* target : {"x86-64-v3", "x86-64-v4", "armv8.2"})
    EXPECT_EQ(sums.unroll(target), 4u) << target;
}

TEST(VectorPlan, ALoopThatFetchesPartsOfTheNextRowTakesFourVectorsAStep) {
  EXPECT_EQ(Squares(Extent::name("n")).unroll("x86-64-v4", /*fetches_parts=*/true), 4u);
}

TEST(VectorPlan, WhatFitsOneStepIsOne) {
  EXPECT_EQ(Squares(64).unroll("x86-64-v4"), 4u);
  EXPECT_EQ(Squares(48).unroll("x86-64-v4"), 2u) << "and the last 16 lanes";
  EXPECT_EQ(Squares(16).unroll("x86-64-v4"), 1u);
  EXPECT_EQ(Squares(65).unroll("x86-64-v4"), 1u) << "a loop";
  const VectorPlan few = plan_vector_loop(Squares(5).kernel, Squares(5).loop, target_of(machine_named("x86-64-v4")));
  EXPECT_EQ(few.lanes, 8u);
  EXPECT_TRUE(few.masked_tail);
}

}  // namespace
}  // namespace tenon::codegen::vector_plan_test
