// Memory of the caller's: inputs that are lent, outputs that are written where the caller wants them.
#include <fmt/ranges.h>

#include <cstring>
#include <numeric>

#include "support/arrays.h"
#include "support/programs.h"

namespace tenon::borrowed_test {
namespace {

const Extent kN = Extent::name("n");

/// y = 2 * x + 1, and x seen from behind.
Executable affine_program() {
  ProgramBuilder program("affine");
  const int x = program.input("x", shape(f32, "n", 4));
  const int y = program.output("y", shape(f32, "n", 4));
  program.step(scale_kernel(kN * 4, 2, 1), {x, y});
  return program.executable();
}

std::vector<float> counting(size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0F);
  return values;
}

TEST(Borrowed, InputsAreReadWhereTheyAre) {
  std::vector<float> x = counting(8);
  const std::vector<Array> y =
      affine_program().run_borrowed(std::vector<TensorView>{{.data = x.data(), .dims = {2, 4}}});
  EXPECT_EQ(y[0].to_string(), "f32[2, 4] {1, 3, 5, 7, 9, 11, 13, 15}");
}

TEST(Borrowed, OtherStridesAndAddressesAreCopied) {
  const Executable executable = affine_program();
  std::vector<float> x = counting(40);
  const auto run = [&](const TensorView& view) { return executable.run_borrowed(std::span(&view, 1))[0].to_string(); };
  EXPECT_EQ(run({.data = x.data(), .dims = {2, 4}, .strides = {1, 2}}), "f32[2, 4] {1, 5, 9, 13, 3, 7, 11, 15}");
  EXPECT_EQ(run({.data = x.data() + 7, .dims = {2, 4}, .strides = {-4, -1}}), "f32[2, 4] {15, 13, 11, 9, 7, 5, 3, 1}");
  EXPECT_EQ(run({.data = x.data() + 3, .dims = {2, 4}, .strides = {0, 0}}), "f32[2, 4] {7, 7, 7, 7, 7, 7, 7, 7}");
  EXPECT_EQ(run({.data = x.data() + 3, .dims = {1, 4}, .strides = {77, 1}}), "f32[1, 4] {7, 9, 11, 13}");
  EXPECT_EQ(run({.data = nullptr, .dims = {0, 4}}), "f32[0, 4] {}");

  std::vector<std::byte> odd(1 + 8 * sizeof(float));
  std::memcpy(odd.data() + 1, x.data(), 8 * sizeof(float));
  EXPECT_EQ(run({.data = odd.data() + 1, .dims = {2, 4}}), "f32[2, 4] {1, 3, 5, 7, 9, 11, 13, 15}");
}

TEST(Borrowed, ElementsOfAnOutputMustNotLieOnOneAnother) {
  const Executable executable = affine_program();
  std::vector<float> x = counting(8);
  std::vector<float> y(64, -1);
  const TensorView in{.data = x.data(), .dims = {2, 4}};
  const auto run = [&](std::vector<int64_t> strides) {
    const TensorView out{.data = y.data() + 32, .dims = {2, 4}, .strides = std::move(strides)};
    executable.run_into(std::span(&in, 1), std::span(&out, 1));
  };
  for (const std::vector<int64_t>& strides :
       std::vector<std::vector<int64_t>>{{4, 0}, {0, 1}, {3, 1}, {1, 1}, {-3, 1}, {1, -1}, {-1, 1}}) {
    EXPECT_EQ(error_text([&] { run(strides); }),
              fmt::format("output `y`: elements of the memory that was given for [2, 4] with strides [{}] lie on one "
                          "another",
                          fmt::join(strides, ", ")));
  }
  for (const std::vector<int64_t>& strides :
       std::vector<std::vector<int64_t>>{{4, 1}, {1, 2}, {-4, 1}, {9, -2}, {-1, -2}}) {
    run(strides);
    EXPECT_EQ(y[static_cast<size_t>(32 + strides[0] + 3 * strides[1])], 15);
  }
}

TEST(Borrowed, ThreadsBelowNone) {
  const Executable executable = affine_program();
  EXPECT_EQ(
      error_text([&] { executable.run({Array(f32, {1, 4})}, {.threads = -1}); }),
      "RunOptions::threads is -1; it is the most threads that a run may use, and 0 stands for all of the machine's");
}

TEST(Borrowed, MistakesAreNamed) {
  const Executable executable = affine_program();
  std::vector<float> x = counting(8);
  const auto error = [&](const TensorView& view) {
    return error_text([&] { executable.run_borrowed(std::span(&view, 1)); });
  };
  EXPECT_EQ(error({.data = x.data(), .dims = {2, 4}, .strides = {1}}), "input 0 has 2 sizes and 1 strides");
  EXPECT_EQ(error({.data = nullptr, .dims = {2, 4}}), "input 0 is [2, 4], but has no memory");
  EXPECT_EQ(error({.data = x.data(), .dims = {-2, 4}}), "an array cannot have a negative size: f32[-2, 4]");
  EXPECT_NE(error({.data = x.data(), .dims = {2, 3}}).find("input `x`"), std::string::npos);
}

TEST(Borrowed, AnOutputThatIsAnInputIsACopy) {
  ProgramBuilder program("same");
  const int x = program.input("x", shape(f32, "n"));
  program.view("y", shape(f32, "n"), x, 0, {1});
  std::vector<float> memory = {1, 2, 3};
  const Array y = program.executable().run_borrowed(std::vector<TensorView>{{.data = memory.data(), .dims = {3}}})[0];
  memory[0] = 7;
  EXPECT_EQ(y.to_string(), "f32[3] {1, 2, 3}");
}

TEST(RunInto, WritesTheCallersMemory) {
  const Executable executable = affine_program();
  EXPECT_EQ(executable.output_shapes({{"n", 2}})[0].to_string(), "f32[n=2, 4]");
  std::vector<float> x = counting(8);
  std::vector<float> y(8);
  executable.run_into(std::vector<TensorView>{{.data = x.data(), .dims = {2, 4}}},
                      std::vector<TensorView>{{.data = y.data(), .dims = {2, 4}}});
  EXPECT_EQ(y, (std::vector<float>{1, 3, 5, 7, 9, 11, 13, 15}));
  EXPECT_EQ(executable.counters().memory_bytes, 0) << "neither an arena nor an output of its own";

  std::vector<float> turned(8);
  executable.run_into(std::vector<TensorView>{{.data = x.data(), .dims = {2, 4}}},
                      std::vector<TensorView>{{.data = turned.data(), .dims = {2, 4}, .strides = {1, 2}}});
  EXPECT_EQ(turned, (std::vector<float>{1, 9, 3, 11, 5, 13, 7, 15}));

  std::vector<std::byte> odd(1 + 8 * sizeof(float));
  executable.run_into(std::vector<TensorView>{{.data = x.data(), .dims = {2, 4}}},
                      std::vector<TensorView>{{.data = odd.data() + 1, .dims = {2, 4}}});
  EXPECT_EQ(std::memcmp(odd.data() + 1, y.data(), 8 * sizeof(float)), 0);
}

TEST(RunInto, AnOutputMayLieWhereAnInputLies) {
  ProgramBuilder program("twice");  // the second step reads x again, after y is made
  const int x = program.input("x", shape(f32, "n"));
  const int y = program.output("y", shape(f32, "n"));
  const int z = program.output("z", shape(f32, "n"));
  program.step(scale_kernel(kN, 2, 0), {x, y});
  program.step(scale_kernel(kN, 3, 0), {x, z});
  std::vector<float> memory = {1, 2, 3};
  std::vector<float> other(3);
  program.executable().run_into(
      std::vector<TensorView>{{.data = memory.data(), .dims = {3}}},
      std::vector<TensorView>{{.data = memory.data(), .dims = {3}}, {.data = other.data(), .dims = {3}}});
  EXPECT_EQ(memory, (std::vector<float>{2, 4, 6}));
  EXPECT_EQ(other, (std::vector<float>{3, 6, 9}));
}

TEST(RunInto, StateIsUpdatedInPlaceWhereItLies) {
  ProgramBuilder program("counter");
  const int state = program.input("state", shape(f32, "n"));
  program.step(scale_kernel(kN, 1, 1), {state, state});
  program.view("next", shape(f32, "n"), state, 0, {1});
  const Executable executable = program.executable();
  std::vector<float> memory = {1, 2, 3};
  const std::vector<TensorView> view = {{.data = memory.data(), .dims = {3}}};
  executable.run_into(view, view);
  EXPECT_EQ(memory, (std::vector<float>{2, 3, 4}));

  std::vector<float> next(3);
  executable.run_into(view, std::vector<TensorView>{{.data = next.data(), .dims = {3}}});
  EXPECT_EQ(memory, (std::vector<float>{2, 3, 4})) << "lent, not given";
  EXPECT_EQ(next, (std::vector<float>{3, 4, 5}));
}

TEST(RunInto, OutputsMayShareMemoryButNoElement) {
  ProgramBuilder program("pair");
  const int x = program.input("x", shape(f32, "n"));
  const int y = program.output("y", shape(f32, "n"));
  const int z = program.output("z", shape(f32, "n"));
  program.step(scale_kernel(kN, 2, 0), {x, y});
  program.step(scale_kernel(kN, 3, 0), {x, z});
  const Executable executable = program.executable();
  std::vector<float> in = {1, 2, 3};
  std::vector<float> memory(6);
  const std::vector<TensorView> inputs = {{.data = in.data(), .dims = {3}}};
  executable.run_into(inputs, std::vector<TensorView>{{.data = memory.data(), .dims = {3}, .strides = {2}},
                                                      {.data = memory.data() + 1, .dims = {3}, .strides = {2}}});
  EXPECT_EQ(memory, (std::vector<float>{2, 3, 4, 6, 6, 9}));
  const auto overlapping = [&] {
    executable.run_into(inputs, std::vector<TensorView>{{.data = memory.data(), .dims = {3}},
                                                        {.data = memory.data() + 2, .dims = {3}}});
  };
  EXPECT_EQ(error_text(overlapping), "outputs `y` and `z` were given memory that overlaps");
}

TEST(RunInto, ViewsOfBuffersAreCopiedOut) {
  ProgramBuilder program("views");
  const int x = program.input("x", shape(f32, "n", 4));
  const int y = program.output("y", shape(f32, "n", 4));
  program.view("last", shape(f32, 4), y, 4 * (kN - 1), {1});
  program.view("transposed", shape(f32, 4, "n"), x, 0, {1, 4});
  program.step(scale_kernel(kN * 4, 2, 0), {x, y});
  std::vector<float> in = counting(8);
  std::vector<float> all(8);
  std::vector<float> last(4);
  std::vector<float> transposed(8);
  program.executable().run_into(std::vector<TensorView>{{.data = in.data(), .dims = {2, 4}}},
                                std::vector<TensorView>{{.data = all.data(), .dims = {2, 4}},
                                                        {.data = last.data(), .dims = {4}},
                                                        {.data = transposed.data(), .dims = {4, 2}}});
  EXPECT_EQ(all, (std::vector<float>{0, 2, 4, 6, 8, 10, 12, 14}));
  EXPECT_EQ(last, (std::vector<float>{8, 10, 12, 14}));
  EXPECT_EQ(transposed, (std::vector<float>{0, 4, 1, 5, 2, 6, 3, 7}));
}

TEST(RunInto, MistakesAreNamed) {
  const Executable executable = affine_program();
  std::vector<float> memory(8);
  const std::vector<TensorView> x = {{.data = memory.data(), .dims = {2, 4}}};
  const auto error = [&](const std::vector<TensorView>& outputs) {
    return error_text([&] { executable.run_into(x, outputs); });
  };
  EXPECT_EQ(error({}), "graph `affine` gives 1 outputs, but memory was given for 0");
  EXPECT_EQ(error({{.data = memory.data(), .dims = {4, 2}}}),
            "output `y` is f32[2, 4] at n=2, but memory was given for f32[4, 2]");
  EXPECT_EQ(error({{.data = memory.data(), .dtype = i32, .dims = {2, 4}}}),
            "output `y` is f32[2, 4] at n=2, but memory was given for i32[2, 4]");
}

}  // namespace
}  // namespace tenon::borrowed_test
