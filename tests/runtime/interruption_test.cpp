// Runs that end early: errors in any step, on any thread, and cancellation.
#include <fmt/format.h>

#include <atomic>
#include <memory>
#include <new>
#include <thread>

#include "devices/cpu/cpu_device.h"
#include "support/arrays.h"
#include "support/programs.h"

namespace tenon::interruption_test {
namespace {

const Extent kN = Extent::name("n");
constexpr int kSteps = 6;
constexpr int64_t kLarge = 400000;  // worth several threads

/// Four scalings in a row, of which the second goes two ways, and a routine, which leaves equal numbers as they are.
ProgramBuilder branches() {
  ProgramBuilder program("branches");
  const int x = program.input("x", shape(f32, "n"));
  const int a = program.intermediate(f32, kN);
  const int b = program.intermediate(f32, kN);
  const int c = program.intermediate(f32, kN);
  const int d = program.intermediate(f32, kN);
  const int y = program.output("y", shape(f32, "n"));
  const int z = program.output("z", shape(f32, "n"));
  program.step(scale_kernel(kN, 2, 1), {x, a});
  program.step(scale_kernel(kN, 3, 1), {a, b});
  program.step(scale_kernel(kN, 5, 1), {a, c});
  program.library(SortRoutine{}, {b}, {d}, {shape(f32, "n"), shape(f32, "n")});
  program.step(scale_kernel(kN, 7, 1), {d, y});
  program.step(scale_kernel(kN, 9, 1), {c, z});
  return program;
}

TEST(Interruption, AnErrorInAnyStepReachesTheCallerAndHarmsNothing) {
  Pool pool(3);
  std::atomic<int> failing = -1;
  const Executable executable =
      branches().executable({}, {.device = std::make_shared<devices::CpuDevice>(pool), .before_step = [&](size_t step) {
                                   if (static_cast<int>(step) == failing) {
                                     throw Error(fmt::format("injected into {}", step));
                                   }
                                 }});
  for (const int64_t n : {int64_t{1}, kLarge}) {
    const Array x = Array::full(f32, {n}, 1);
    const std::vector<Array> expected = executable.run({x});
    for (int step = 0; step < kSteps; ++step) {
      for (const int threads : {1, 3}) {
        failing = step;
        EXPECT_EQ(error_text([&] { executable.run({x}, {.threads = threads}); }),
                  fmt::format("injected into {}", step));
        failing = -1;
        const std::vector<Array> after = executable.run({x}, {.threads = threads});
        EXPECT_TRUE(same(after[0], expected[0]) && same(after[1], expected[1]));
      }
    }
  }
  const RunCounters counters = executable.counters();
  EXPECT_EQ(counters.memory_bytes - counters.idle_bytes, 0) << "failed runs gave their memory back";
}

TEST(Interruption, FromAGivenStepOnARunGoesToItsEnd) {
  for (const int last : {0, 3, kSteps}) {
    for (int step = 0; step < kSteps; ++step) {
      CancelToken token;
      const Executable executable = branches().executable({}, {.before_step = [&](size_t at) {
                                                            if (static_cast<int>(at) == step) {
                                                              token.cancel();
                                                            }
                                                          }});
      const Array x = Array::full(f32, {4}, 1);
      const RunOptions options{.threads = 1, .cancel = &token, .cancel_before_step = last};
      const std::string text = error_text([&] { executable.run({x}, options); });
      EXPECT_EQ(text, step + 1 < last ? "the run was cancelled" : "no error") << step << " of " << last;
    }
  }
}

TEST(Interruption, WhatIsNoErrorOfOursIsPassedOnToo) {
  const Executable executable = branches().executable({}, {.before_step = [](size_t step) {
                                                        if (step == 3) {
                                                          throw std::bad_alloc();
                                                        }
                                                      }});
  EXPECT_THROW(executable.run({Array(f32, {kLarge})}), std::bad_alloc);
}

TEST(Interruption, ACancelledRunEndsAndTheNextWorks) {
  const Executable executable = branches().executable();
  CancelToken token;
  token.cancel();
  EXPECT_THROW(executable.run({Array(f32, {3})}, {.cancel = &token}), Cancelled);
  EXPECT_EQ(error_text([&] { executable.run({Array(f32, {3})}, {.cancel = &token}); }), "the run was cancelled");
  token.reset();
  EXPECT_EQ(executable.run({Array(f32, {3})}, {.cancel = &token})[0].at(0), 29);
}

TEST(Interruption, CancelledBetweenStepsAndBetweenChunks) {
  for (const int threads : {1, 3}) {
    Pool pool(threads);
    for (int step = 0; step < kSteps; ++step) {
      CancelToken token;
      std::atomic<int> later = 0;
      std::atomic<int> chunks = 0;
      const Executable executable = branches().executable(
          {}, {.device = std::make_shared<devices::CpuDevice>(pool), .before_step = [&](size_t at) {
                 later += static_cast<int>(at) > step + 1 ? 1 : 0;
                 chunks += static_cast<int>(at) == step ? 1 : 0;
                 if (static_cast<int>(at) == step) {
                   token.cancel();
                 }
               }});
      EXPECT_THROW(executable.run({Array(f32, {kLarge})}, {.cancel = &token}), Cancelled);
      EXPECT_EQ(later, 0);
      EXPECT_LE(chunks, threads) << "what was under way when the first cancelled";
    }
  }
}

/// x scaled by 1 again and again, `trips` times.
ProgramBuilder repeated(const Extent& trips) {
  ProgramBuilder body("body");
  body.input("trip", Shape(i64, {}));
  const int before = body.input("before", shape(f32, "n"));
  const int after = body.output("after", shape(f32, "n"));
  body.step(scale_kernel(kN, 1, 1), {before, after});
  ProgramBuilder program("repeated");
  const int x = program.input("x", shape(f32, "n"));
  const int y = program.output("y", shape(f32, "n"));
  program.control(LoopControl{.trips = trips, .carried = 1}, {body.program()}, {x}, {y});
  return program;
}

TEST(Interruption, CancelledFromAnotherThreadBetweenTrips) {
  CancelToken token;
  std::atomic<bool> running = false;
  const Executable executable =
      repeated(int64_t{1} << 60).executable({}, {.before_step = [&](size_t) { running = true; }});
  std::jthread canceller([&] {
    while (!running) {
      std::this_thread::yield();
    }
    token.cancel();
  });
  EXPECT_THROW(executable.run({Array(f32, {3})}, {.cancel = &token}), Cancelled);
}

TEST(Interruption, ALoopWhoseResultsAreEmptyMakesNoTrips) {
  const Executable executable = repeated(int64_t{1} << 60).executable();
  EXPECT_EQ(executable.run({Array(f32, {0})})[0].size(), 0);
}

TEST(Interruption, AnErrorInABodyReachesTheCaller) {
  std::atomic<int> calls = 0;
  const Executable executable = repeated(1000).executable({}, {.before_step = [&](size_t step) {
                                                            EXPECT_EQ(step, 0u);
                                                            if (++calls == 100) {
                                                              throw Error("enough");
                                                            }
                                                          }});
  EXPECT_EQ(error_text([&] { executable.run({Array(f32, {3})}); }), "enough");
  EXPECT_EQ(executable.run({Array(f32, {3})})[0].at(2), 1000);
}

}  // namespace
}  // namespace tenon::interruption_test
