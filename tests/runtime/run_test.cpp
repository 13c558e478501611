// Small programs, run at several sizes.
#include <cstring>

#include "support/arrays.h"
#include "support/loop_builder.h"
#include "support/loop_kernels.h"
#include "support/loop_launch.h"
#include "support/programs.h"

namespace tenon::run_test {
namespace {

const Extent kN = Extent::name("n");

Array scaled(const Array& x, double factor, double offset) {
  Array result(f32, x.dims());
  for (int64_t i = 0; i < x.size(); ++i) {
    const float product = static_cast<float>(x.at(i)) * static_cast<float>(factor);
    result.mutable_values<float>()[static_cast<size_t>(i)] = product + static_cast<float>(offset);
  }
  return result;
}

/// y = ((x * 2 + 1) * 3 - 4) ... over `length` steps, all but the last of which write an intermediate.
ProgramBuilder chain(int length) {
  ProgramBuilder program("chain");
  int last = program.input("x", shape(f32, "n"));
  for (int i = 0; i < length; ++i) {
    const int next = i + 1 == length ? program.output("y", shape(f32, "n")) : program.intermediate(f32, kN);
    program.step(scale_kernel(kN, i + 2, 1 - i), {last, next});
    last = next;
  }
  return program;
}

TEST(Run, AChainAtManySizes) {
  const Executable executable = chain(2).executable();
  std::mt19937_64 rng(1);
  for (const int64_t n : {0, 1, 7, 64, 65, 1000, 100000}) {
    const Array x = random_array(f32, {n}, rng);
    const std::vector<Array> y = executable.run({x});
    ASSERT_EQ(y.size(), 1u);
    EXPECT_TRUE(same(y[0], scaled(scaled(x, 2, 1), 3, 0))) << n;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(y[0].data()) % 64, 0u);
  }
  EXPECT_EQ(executable.counters().specializations, 7);
}

TEST(Run, IntermediatesShareMemory) {
  const Executable executable = chain(10).executable();
  const MemoryReport memory = executable.memory({{"n", 1000}});
  EXPECT_EQ(memory.intermediate_bytes, 9 * 4000);
  EXPECT_EQ(memory.arena_bytes, 4032) << "each in place of the one before";
  EXPECT_EQ(memory.live_bytes, 4000);
  EXPECT_EQ(memory.output_bytes, 4000);

  std::mt19937_64 rng(2);
  Array expected = random_array(f32, {1000}, rng);
  const Array y = executable.run({expected})[0];
  for (int i = 0; i < 10; ++i) {
    expected = scaled(expected, i + 2, 1 - i);
  }
  EXPECT_TRUE(same(y, expected));
}

TEST(Run, PartsOfDifferentSizesInOneStep) {
  ProgramBuilder program("parts");
  const Extent m = Extent::name("m");
  const int a = program.input("a", shape(f32, "n"));
  const int b = program.input("b", shape(f32, "m", 3));
  const int c = program.constant(Array::from<float>({2}, {5, 6}));
  const int x = program.output("x", shape(f32, "n"));
  const int y = program.output("y", shape(f32, "m", 3));
  const int z = program.output("z", shape(f32, 2));
  program.step("all", {program.part(scale_kernel(kN, 2, 0), {a, x}), program.part(scale_kernel(m * 3, 3, 1), {b, y}),
                       program.part(scale_kernel(2, 4, 0), {c, z})});
  const Executable executable = program.executable();
  EXPECT_EQ(executable.kernel_count(), 1);
  std::mt19937_64 rng(3);
  for (const auto& [n, rows] : std::vector<std::pair<int64_t, int64_t>>{{5, 7}, {0, 3}, {200000, 1}, {1, 100000}}) {
    const Array first = random_array(f32, {n}, rng);
    const Array second = random_array(f32, {rows, 3}, rng);
    const std::vector<Array> results = executable.run({first, second});
    EXPECT_TRUE(same(results[0], scaled(first, 2, 0)));
    EXPECT_TRUE(same(results[1], scaled(second, 3, 1)));
    EXPECT_EQ(results[2].to_string(), "f32[2] {20, 24}");
  }
}

TEST(Run, PhasesPartialsAndScratch) {
  for (const LoopCase& each : {split_sum_case(), softmax_case(), layer_norm_case(), product_case()}) {
    const Executable executable = program_of(each.kernel).executable();
    for (const Bindings& sizes : {Bindings{{"rows", 3}, {"cols", 200}}, Bindings{{"rows", 200}, {"cols", 1001}},
                                  Bindings{{"rows", 0}, {"cols", 5}}, Bindings{{"rows", 1}, {"cols", 0}}}) {
      std::vector<Array> buffers = make_buffers(each.kernel, sizes, 5);
      each.prepare(sizes, buffers);
      std::vector<Array> inputs;
      for (size_t i = 0; i < buffers.size(); ++i) {
        if (each.kernel.buffers[i].role == loops::Role::input) {
          inputs.push_back(buffers[i].reshaped({buffers[i].size()}));
        }
      }
      Bindings known;
      for (const Extent& size : loops::runtime_sizes(each.kernel)) {
        for (const std::string& name : size.names()) {
          known.set(name, sizes.at(name));
        }
      }
      const std::vector<Array> results = executable.run(inputs, {.threads = 0, .bindings = known});
      each.reference(sizes, buffers);
      size_t output = 0;
      for (size_t i = 0; i < buffers.size(); ++i) {
        if (each.kernel.buffers[i].role == loops::Role::output) {
          EXPECT_TRUE(close(results.at(output++), buffers[i].reshaped({buffers[i].size()}), each.relative, 1e-4))
              << each.name << " at " << sizes.to_string();
        }
      }
    }
  }
}

TEST(Run, RowsWithoutElementsCostNothing) {
  const Executable rows = program_of(softmax_case().kernel).executable();
  const Bindings sizes{{"rows", int64_t{1} << 50}, {"cols", 0}};
  EXPECT_EQ(rows.run({Array(f32, {0})}, {.threads = 1, .bindings = sizes})[0].size(), 0);

  const loops::Kernel sums = column_sums_case().kernel;  // of no rows: a sum of nothing is still written
  const Array y = program_of(sums).executable().run({Array(f32, {0}), Array(f32, {0})},
                                                    {.threads = 1, .bindings = {{"rows", 0}, {"cols", 3}}})[0];
  EXPECT_EQ(y.to_string(), "f32[3] {0, 1, 2}");
}

TEST(Run, OutputsThatAreViewsStayViews) {
  ProgramBuilder program("views");
  const int x = program.input("x", shape(f32, "n", 4));
  const int y = program.output("y", shape(f32, "n", 4));
  program.view("transposed", shape(f32, 4, "n"), x, 0, {1, 4});
  program.view("same", shape(f32, "n", 4), x, 0, {4, 1});
  program.view("last", shape(f32, 4), y, 4 * (kN - 1), {1});
  program.step(scale_kernel(kN * 4, 2, 0), {x, y});
  const Executable executable = program.executable();
  const Array in = Array::from<float>({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});

  const std::vector<StridedArray> views = executable.run_views({in});
  EXPECT_EQ(views[1].base.data(), in.data());
  EXPECT_EQ(views[1].strides, (std::vector<int64_t>{1, 4}));
  EXPECT_EQ(views[3].base.data(), views[0].base.data());
  EXPECT_EQ(views[3].offset, 4);

  const std::vector<Array> arrays = executable.run({in});
  EXPECT_EQ(arrays[0].to_string(), "f32[2, 4] {2, 4, 6, 8, 10, 12, 14, 16}");
  EXPECT_EQ(arrays[1].to_string(), "f32[4, 2] {1, 5, 2, 6, 3, 7, 4, 8}");
  EXPECT_EQ(arrays[2].data(), in.data());
  EXPECT_EQ(arrays[3].to_string(), "f32[4] {10, 12, 14, 16}");
}

TEST(Run, RoutinesWorkBetweenKernels) {
  ProgramBuilder program("routine");
  const int x = program.input("x", shape(f32, "n", 2));
  const int doubled = program.intermediate(f32, kN * 2);
  const int summed = program.intermediate(f32, kN * 2);
  const int y = program.output("y", shape(f32, "n", 2));
  program.step(scale_kernel(kN * 2, 2, 0), {x, doubled});
  program.library(ScanRoutine{.op = ReduceOp::sum, .axis = 0}, {doubled}, {summed},
                  {shape(f32, "n", 2), shape(f32, "n", 2)});
  program.step(scale_kernel(kN * 2, 1, 1), {summed, y});
  const Executable executable = program.executable();
  EXPECT_EQ(executable.kernel_count(), 2);
  EXPECT_EQ(executable.run({Array::from<float>({2, 2}, {1, 2, 3, 4})})[0].to_string(), "f32[2, 2] {3, 5, 9, 13}");
  EXPECT_EQ(executable.run({Array(f32, {0, 2})})[0].dims(), (std::vector<int64_t>{0, 2}));
}

/// state += 1, in the memory of the input.
ProgramBuilder counter() {
  ProgramBuilder program("counter");
  const int state = program.input("state", shape(f32, "n"));
  program.step(scale_kernel(kN, 1, 1), {state, state});
  program.view("next", shape(f32, "n"), state, 0, {1});
  return program;
}

TEST(Run, AnUpdatedInputIsCopiedUnlessItIsGiven) {
  const Executable executable = counter().executable();
  const Array before = Array::from<float>({3}, {1, 2, 3});
  EXPECT_EQ(executable.run({before})[0].to_string(), "f32[3] {2, 3, 4}");
  EXPECT_EQ(before.to_string(), "f32[3] {1, 2, 3}");

  std::vector<Array> state = {Array::from<float>({3}, {1, 2, 3})};
  const std::byte* memory = state[0].data();
  for (int i = 0; i < 3; ++i) {
    state = executable.run(std::move(state));
    EXPECT_EQ(state[0].data(), memory);
  }
  EXPECT_EQ(state[0].to_string(), "f32[3] {4, 5, 6}");

  const Array shared = state[0];
  EXPECT_EQ(executable.run(std::move(state))[0].to_string(), "f32[3] {5, 6, 7}");
  EXPECT_EQ(shared.to_string(), "f32[3] {4, 5, 6}") << "somebody else held it";
}

TEST(Run, ResultsOutliveTheExecutableAndAreNotReused) {
  std::vector<Array> kept;
  {
    const Executable executable = chain(2).executable();
    for (int i = 0; i < 4; ++i) {
      kept.push_back(executable.run({Array::full(f32, {1000}, i)})[0]);
    }
  }
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(same(kept[static_cast<size_t>(i)], Array::full(f32, {1000}, (2 * i + 1) * 3)));
  }
}

TEST(Run, AProgramWithoutSteps) {
  ProgramBuilder program("constants");
  const int c = program.constant(Array::from<float>({2, 2}, {1, 2, 3, 4}));
  program.view("c", shape(f32, 2), c, 3, {-2});
  EXPECT_EQ(program.executable().run({})[0].to_string(), "f32[2] {4, 2}");
}

}  // namespace
}  // namespace tenon::run_test
