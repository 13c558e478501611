#include "runtime/plan/in_place.h"

#include <gtest/gtest.h>

#include "runtime/plan/plan.h"
#include "runtime/plan/specialization.h"
#include "support/arrays.h"
#include "support/loop_builder.h"
#include "support/programs.h"

namespace tenon::runtime {
namespace {

const Extent kN = Extent::name("n");

/// One step between two intermediates.
bool in_place(const loops::Kernel& kernel, Dtype from_type = f32, Dtype to_type = f32) {
  ProgramBuilder program("one");
  const int from = program.intermediate(from_type, kN);
  const int to = program.intermediate(to_type, kN);
  std::vector<int> buffers = {from, to};
  buffers.resize(kernel.buffers.size(), -1);
  program.step(kernel, buffers);
  return runs_in_place(program.program(), program.program().steps[0], from, to);
}

TEST(InPlace, ElementByElement) {
  EXPECT_TRUE(in_place(scale_kernel(kN, 2, 1)));
  LoopBuilder k("add");
  const int i = k.axis("i", kN);
  const int x = k.input(i32, kN);
  const int y = k.output(f32, kN);
  k.phase({i}, [&] { k.store(y, affine({{i, 1}}), k.compute(Prim::cast, {k.load(x, affine({{i, 1}}))})); });
  EXPECT_EQ(in_place(k.kernel(), i32, f32), true) << "elements of the same size";
}

TEST(InPlace, NotFromElsewhere) {
  LoopBuilder k("shift");
  const int i = k.axis("i", kN);
  const int x = k.input(f32, kN);
  const int y = k.output(f32, kN);
  k.phase({i}, [&] { k.store(y, affine({{i, 1}}), k.load(x, affine({{i, -1}}, kN - 1))); });
  EXPECT_FALSE(in_place(k.kernel()));
}

TEST(InPlace, NotWhatIsReadAgain) {
  LoopBuilder k("twice");  // for each j all of x is read, also what the j before overwrote
  const int j = k.axis("j", 3);
  const int i = k.axis("i", kN);
  const int x = k.input(f32, kN);
  const int y = k.output(f32, kN);
  k.phase({},
          [&] { k.loop(j, [&] { k.loop(i, [&] { k.store(y, affine({{i, 1}}), k.load(x, affine({{i, 1}}))); }); }); });
  EXPECT_FALSE(in_place(k.kernel()));
}

TEST(InPlace, NotWhatIsReadAfterwards) {
  LoopBuilder k("after");
  const int i = k.axis("i", kN);
  const int x = k.input(f32, kN);
  const int y = k.output(f32, kN);
  const int z = k.output(f32, kN);
  k.phase({}, [&] {
    k.loop(i, [&] { k.store(y, affine({{i, 1}}), k.load(x, affine({{i, 1}}))); });
    k.loop(i, [&] { k.store(z, affine({{i, 1}}), k.load(x, affine({{i, 1}}))); });
  });
  ProgramBuilder program("two");
  const int from = program.intermediate(f32, kN);
  const int first = program.intermediate(f32, kN);
  const int second = program.intermediate(f32, kN);
  program.step(k.kernel(), {from, first, second});
  EXPECT_FALSE(runs_in_place(program.program(), program.program().steps[0], from, first));
  EXPECT_TRUE(runs_in_place(program.program(), program.program().steps[0], from, second)) << "the last that is written";
}

TEST(InPlace, NotBesideAnotherPartThatReads) {
  ProgramBuilder program("parts");
  const int from = program.intermediate(f32, kN);
  const int a = program.intermediate(f32, kN);
  const int b = program.intermediate(f32, kN);
  program.step("both",
               {program.part(scale_kernel(kN, 2, 0), {from, a}), program.part(scale_kernel(kN, 3, 0), {from, b})});
  EXPECT_FALSE(runs_in_place(program.program(), program.program().steps[0], from, a));
  EXPECT_FALSE(in_place(scale_kernel(kN, 2, 0), f32, f64)) << "of another size";
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
  const Specialization s = specialize(program.program(), plan, {{"n", 1000}}, 1);
  EXPECT_EQ(s.offsets[static_cast<size_t>(a)], s.offsets[static_cast<size_t>(c)]);
  EXPECT_EQ(s.memory.arena_bytes, 2 * 4032);
  EXPECT_EQ(program.executable().run({Array::full(f32, {1000}, 1)})[0].at(999), 11);
}

}  // namespace
}  // namespace tenon::runtime
