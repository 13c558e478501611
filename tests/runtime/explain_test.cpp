#include "support/arrays.h"
#include "support/loop_kernels.h"
#include "support/programs.h"

namespace tenon::explain_test {
namespace {

TEST(Explain, SaysWhatEachStepDoesAndWhyItEnds) {
  const Extent n = Extent::name("n");
  ProgramBuilder program("model");
  const int x = program.input("x", shape(f32, "n", 8));
  const int t = program.intermediate(f32, n * 8);
  const int u = program.intermediate(f32, n * 8);
  const int y = program.output("y", shape(f32, "n", 8));
  program.step("mul, add",
               {program.part(scale_kernel(n * 8, 2, 1), {x, t}), program.part(scale_kernel(n * 4, 2, 1), {x, u})},
               "sort reads all of its input");
  program.library(SortRoutine{.axis = 1}, {t}, {u}, {shape(f32, "n", 8), shape(f32, "n", 8)});
  program.step("mul", {program.part(scale_kernel(n * 8, 2, 1), {u, y})}, "its result is an output");
  const Executable executable = program.executable();
  EXPECT_EQ(executable.explain(), R"(model: 2 kernels, 1 library step
  in  x: f32[n, 8]
  out y: f32[n, 8]
  1. kernel mul, add
     reads 32*n bytes, writes 64*n; 2 parts side by side
     ends here: sort reads all of its input
  2. library sort
     reads 32*n bytes, writes 32*n
  3. kernel mul
     reads 32*n bytes, writes 32*n
     ends here: its result is an output
)");
  EXPECT_EQ(executable.name(), "model");
  EXPECT_EQ(executable.inputs(), (std::vector<Port>{{"x", shape(f32, "n", 8)}}));
  EXPECT_EQ(executable.outputs(), (std::vector<Port>{{"y", shape(f32, "n", 8)}}));
  EXPECT_EQ(executable.kernel_count(), 2);
  EXPECT_EQ(executable.copy_count(), 0);
}

TEST(Explain, TellsCopiesFromKernels) {
  EXPECT_EQ(program_of(copy_case(i8).kernel).executable().copy_count(), 1);
  EXPECT_EQ(program_of(pad_case().kernel).executable().copy_count(), 1);
  EXPECT_EQ(program_of(elementwise_case().kernel).executable().copy_count(), 0);
  EXPECT_EQ(program_of(gather_rows_case(false).kernel).executable().copy_count(), 0);
  const Executable split = program_of(split_sum_case().kernel).executable();
  EXPECT_EQ(split.steps()[0].phases, 2);
  EXPECT_NE(split.explain().find("2 phases"), std::string::npos);
}

}  // namespace
}  // namespace tenon::explain_test
