#include "runtime/plan/in_place.h"

#include <gtest/gtest.h>

#include "runtime/plan/plan.h"
#include "runtime/plan/specialization.h"
#include "runtime/plan/tile_choices.h"
#include "support/arrays.h"
#include "support/loop_builder.h"
#include "support/programs.h"

namespace tenon::runtime::in_place_test {
namespace {

const Extent kN = Extent::name("n");

TEST(InPlace, WhereTheKernelSaysThatItMay) {
  const auto in_place = [](const loops::Kernel& kernel, const std::vector<loops::MayShare>& says) {
    ProgramBuilder builder("one");
    const int from = builder.intermediate(f32, kN);
    const int to = builder.intermediate(f32, kN);
    builder.step(kernel, {from, to});
    Program program = builder.program();
    program.facts[0].may_share = says;
    return runs_in_place(program, program.steps[0], from, to);
  };
  EXPECT_TRUE(in_place(scale_kernel(kN, 2, 1), {{.input = 0, .output = 1}}));
  EXPECT_FALSE(in_place(scale_kernel(kN, 2, 1), {}));
}

TEST(InPlace, NotOfABufferThatIsTwoInputs) {
  LoopBuilder k("product");
  const int i = k.axis("i", kN);
  const int a = k.input(f32, kN);
  const int b = k.input(f32, kN);
  const int y = k.output(f32, kN);
  k.phase({i}, [&] {
    k.store(y, affine({{i, 1}}), k.compute(Prim::mul, {k.load(a, affine({{i, 1}})), k.load(b, affine({{i, 1}}))}));
  });
  ProgramBuilder program("square");
  const int from = program.intermediate(f32, kN);
  const int other = program.intermediate(f32, kN);
  const int to = program.intermediate(f32, kN);
  program.step(k.kernel(), {from, from, to});
  program.step(k.kernel(), {from, other, to});
  EXPECT_FALSE(runs_in_place(program.program(), program.program().steps[0], from, to));
  EXPECT_TRUE(runs_in_place(program.program(), program.program().steps[1], from, to));
}

TEST(InPlace, NotBesideAnotherPartThatReads) {
  ProgramBuilder program("parts");
  const int from = program.intermediate(f32, kN);
  const int a = program.intermediate(f32, kN);
  const int b = program.intermediate(f32, kN);
  program.step("both",
               {program.part(scale_kernel(kN, 2, 0), {from, a}), program.part(scale_kernel(kN, 3, 0), {from, b})});
  EXPECT_FALSE(runs_in_place(program.program(), program.program().steps[0], from, a));
}

TEST(InPlace, OnlyOfTheLastReaderAndOfEqualSizes) {
  ProgramBuilder program("chain");
  const int x = program.input("x", shape(f32, "n"));
  const int a = program.intermediate(f32, kN);
  const int b = program.intermediate(f32, kN);
  const int c = program.intermediate(f32, kN);
  const int y = program.output("y", shape(f32, "n"));
  program.step(scale_kernel(kN, 2, 0), {x, a});
  program.step(scale_kernel(kN, 3, 0), {a, b});
  program.step(scale_kernel(kN, 5, 0), {a, c});
  program.step("sum", {program.part(scale_kernel(kN, 1, 0), {b, y})});
  program.step(scale_kernel(kN, 1, 1), {c, y});
  const Plan plan = make_plan(program.program());
  EXPECT_EQ(plan.slots[static_cast<size_t>(b)].in_place, -1) << "a is read again";
  EXPECT_EQ(plan.slots[static_cast<size_t>(c)].in_place, a);
  TileChoices tiles;
  const Specialization s = specialize(program.program(), plan, {{"n", 1000}}, 1, tiles);
  EXPECT_EQ(s.offsets[static_cast<size_t>(a)], s.offsets[static_cast<size_t>(c)]);
  EXPECT_EQ(s.memory.arena_bytes, 2 * 4032);
  EXPECT_EQ(program.executable().run({Array::full(f32, {1000}, 1)})[0].at(999), 11);
}

}  // namespace
}  // namespace tenon::runtime::in_place_test
