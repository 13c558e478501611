// Runs that take denormals for 0, and runs that leave the processor as it is.
#include <atomic>
#include <memory>

#include "base/float_mode.h"
#include "devices/cpu/cpu_device.h"
#include "support/arrays.h"
#include "support/programs.h"

namespace tenon::denormals_test {
namespace {

const Extent kN = Extent::name("n");
constexpr int64_t kLarge = 400000;  // worth several threads
constexpr float kDenormal = 1e-40f;

/// y = x * 1 + 0, and its running sums, which a routine computes.
ProgramBuilder sums() {
  ProgramBuilder program("sums");
  const int x = program.input("x", shape(f32, "n", 4));
  const int y = program.output("y", shape(f32, "n", 4));
  const int z = program.output("z", shape(f32, "n", 4));
  program.step(scale_kernel(kN * 4, 1, 0), {x, y});
  program.library(ScanRoutine{.axis = 1}, {x}, {z}, {shape(f32, "n", 4), shape(f32, "n", 4)});
  return program;
}

TEST(Denormals, AreZeroWhereFlushedAndThemselvesElsewhere) {
  Pool pool(2);
  const Executable executable = sums().executable({}, {.device = std::make_shared<devices::CpuDevice>(pool)});
  const FloatMode before = FloatMode::current();
  for (const int64_t n : {int64_t{1}, int64_t{9}, kLarge}) {
    const Array x = Array::full(f32, {n, 4}, kDenormal);
    Array total(f32, {n, 4});
    for (int64_t i = 0; i < total.size(); ++i) {
      total.mutable_values<float>()[static_cast<size_t>(i)] = kDenormal * static_cast<float>(i % 4 + 1);
    }
    const Array zero = Array::full(f32, {n, 4}, 0);
    for (const int threads : {1, 2}) {
      const std::vector<Array> flushed = executable.run({x}, {.threads = threads, .flush_denormals = true});
      EXPECT_TRUE(FloatMode::current() == before);
      EXPECT_TRUE(same(flushed[0], zero) && same(flushed[1], zero)) << n << " on " << threads;
      const std::vector<Array> kept = executable.run({x}, {.threads = threads});
      EXPECT_TRUE(same(kept[0], x) && same(kept[1], total)) << n << " on " << threads;
    }
  }
}

TEST(Denormals, TheModeComesBackAfterAnError) {
  Pool pool(2);
  std::atomic<bool> flushed_inside = true;
  const Executable executable =
      sums().executable({}, {.device = std::make_shared<devices::CpuDevice>(pool), .before_step = [&](size_t step) {
                               const FloatMode mode = FloatMode::current();
                               flushed_inside = flushed_inside && mode == mode.flushing();
                               if (step == 1) {
                                 throw Error("injected");
                               }
                             }});
  const FloatMode before = FloatMode::current();
  ASSERT_FALSE(before == before.flushing());
  for (const int threads : {1, 2}) {
    const Array x(f32, {kLarge, 4});
    EXPECT_EQ(error_text([&] { executable.run({x}, {.threads = threads, .flush_denormals = true}); }), "injected");
    EXPECT_TRUE(FloatMode::current() == before);
  }
  EXPECT_TRUE(flushed_inside);
}

/// A caller that has set the mode himself gets the same from all threads.
TEST(Denormals, WithoutTheOptionTheCallersModeHolds) {
  Pool pool(2);
  const Executable executable = sums().executable({}, {.device = std::make_shared<devices::CpuDevice>(pool)});
  const Array x = Array::full(f32, {kLarge, 4}, kDenormal);
  {
    const FlushDenormals callers(true);
    const FloatMode mode = FloatMode::current();
    EXPECT_TRUE(same(executable.run({x}, {.threads = 2})[0], Array::full(f32, {kLarge, 4}, 0)));
    EXPECT_TRUE(FloatMode::current() == mode);
  }
  EXPECT_TRUE(same(executable.run({x}, {.threads = 2})[0], x));
}

TEST(Denormals, ResultsThatAreUsedAgainAreOfTheSameMode) {
  const Executable executable = sums().executable();
  const Array x = Array::full(f32, {2, 4}, kDenormal);
  const Array zero = Array::full(f32, {2, 4}, 0);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(same(executable.run({x}, {.reuse_results = true})[0], x));
    EXPECT_TRUE(same(executable.run({x}, {.reuse_results = true, .flush_denormals = true})[0], zero));
  }
  EXPECT_EQ(executable.counters().reused_results, 2);
}

}  // namespace
}  // namespace tenon::denormals_test
