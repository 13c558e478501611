// Regions of programs made by hand: errors in any tile of any stage, more threads than the machine has, traces.
#include <fmt/format.h>

#include <atomic>
#include <memory>
#include <set>
#include <thread>

#include "devices/cpu/cpu_device.h"
#include "support/arrays.h"
#include "support/programs.h"

namespace tenon::regions_test {
namespace {

const Extent kN = Extent::name("n");
constexpr int kSteps = 12;  // more than there are threads
constexpr int64_t kSize = 64 * 40 + 7;

/// One scaling behind the other, in tiles of `rows` times 64 elements; 0: step by step.
Program chain(int64_t rows) {
  ProgramBuilder builder("chain");
  int last = builder.input("x", shape(f32, "n"));
  for (int i = 0; i < kSteps; ++i) {
    const bool is_last = i + 1 == kSteps;
    const int next = is_last ? builder.output("y", shape(f32, "n")) : builder.intermediate(f32, kN);
    builder.step(scale_kernel(kN, 1 + i % 2, i), {last, next});
    last = next;
  }
  Program program = builder.program();
  program.regions = {{.first = 0, .count = kSteps}};
  program.pipelines = {.on = rows > 0, .rows = rows};
  program.least_shared_work = 0;
  return program;
}

Array numbers(int64_t n) {
  Array array = Array::uninitialized(f32, {n});
  for (int64_t i = 0; i < n; ++i) {
    array.mutable_values<float>()[static_cast<size_t>(i)] = static_cast<float>(i % 100);
  }
  return array;
}

TEST(Regions, OfAnyTileAndSizeGiveTheSame) {
  Pool pool(8);
  const Executable whole = executable_of(chain(0));
  for (const int64_t rows : {1, 2, 3, 100}) {
    const Executable tiles = executable_of(chain(rows), {}, {.device = std::make_shared<devices::CpuDevice>(pool)});
    for (const int64_t n : {int64_t{0}, int64_t{1}, int64_t{63}, int64_t{64}, int64_t{65}, int64_t{700}, kSize}) {
      const Array x = numbers(n);
      for (const int threads : {0, 1, 3}) {
        EXPECT_TRUE(same(tiles.run({x}, {.threads = threads})[0], whole.run({x})[0])) << rows << " rows, " << n;
      }
    }
    EXPECT_TRUE(tiles.pipelines({{"n", kSize}}).front().tiled);
    EXPECT_LT(tiles.memory({{"n", kSize}}).arena_bytes, rows < 3 ? 300'000 : 3'000'000);
  }
}

TEST(Regions, WithWindowsThatAreTooSmallRunStepByStep) {
  Pool pool(3);
  const Array x = numbers(kSize);
  const Array expected = executable_of(chain(0)).run({x})[0];
  const Executable small =
      executable_of(chain(3), {}, {.device = std::make_shared<devices::CpuDevice>(pool), .most_window_elements = 100});
  for (const int threads : {1, 3, 3}) {  // again with windows that were made to fit after the first run
    EXPECT_TRUE(same(small.run({x}, {.threads = threads})[0], expected)) << threads;
  }
}

TEST(Regions, AnErrorInAnyTileReachesTheCallerAndHarmsNothing) {
  Pool pool(3);
  std::atomic<int> calls = 0;
  std::atomic<int> failing = -1;
  const Executable executable =
      executable_of(chain(3), {}, {.device = std::make_shared<devices::CpuDevice>(pool), .before_step = [&](size_t) {
                                     if (calls.fetch_add(1) == failing) {
                                       throw Error("injected");
                                     }
                                   }});
  const Array x = numbers(kSize);
  const Array expected = executable.run({x})[0];
  for (const int threads : {1, 3}) {
    calls = 0;
    executable.run({x}, {.threads = threads});
    const int all = calls;
    ASSERT_GT(all, 2 * kSteps);
    for (int call = 0; call < all; call += threads == 1 ? 1 : 7) {
      calls = 0;
      failing = call;
      EXPECT_EQ(error_text([&] { executable.run({x}, {.threads = threads}); }), "injected") << call;
      failing = -1;
    }
    EXPECT_TRUE(same(executable.run({x}, {.threads = threads})[0], expected));
  }
}

TEST(Regions, EndWhenTheRunIsCancelledInside) {
  CancelToken token;
  std::atomic<int> calls = 0;
  const Executable executable = executable_of(chain(1), {}, {.before_step = [&](size_t) {
                                                if (calls.fetch_add(1) == 30) {
                                                  token.cancel();
                                                }
                                              }});
  const Array x = numbers(kSize);
  EXPECT_THROW(executable.run({x}, {.cancel = &token}), Cancelled);
  token.reset();
  EXPECT_TRUE(same(executable.run({x}, {.cancel = &token})[0], executable_of(chain(0)).run({x})[0]));
}

TEST(Regions, OfMoreRunsThanThreadsAllComeToAnEnd) {
  Pool pool(2);
  const Executable executable = executable_of(chain(2), {}, {.device = std::make_shared<devices::CpuDevice>(pool)});
  const Array x = numbers(kSize);
  const Array expected = executable.run({x})[0];
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { right += same(executable.run({x})[0], expected) ? 1 : 0; });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(right, 8);
}

TEST(Regions, AreLanesOfATrace) {
  const Executable executable = executable_of(chain(2));
  Trace trace;
  executable.run({numbers(kSize)}, {.threads = 1, .trace = &trace});
  std::set<int> steps;
  std::set<int64_t> tiles;
  for (const TraceEvent& event : trace.events()) {
    steps.insert(event.step);
    tiles.insert(event.tile);
  }
  EXPECT_EQ(steps.size(), size_t{kSteps});
  EXPECT_GT(tiles.size(), 5u);
  EXPECT_GE(*tiles.begin(), 0);
  EXPECT_NE(trace.to_json().find(R"("args": {"name": "step 12, thread )"), std::string::npos);
  EXPECT_GE(executable.counters().tiles, static_cast<int64_t>(tiles.size()));
  EXPECT_GT(executable.counters().kept_bytes, 0);
}

}  // namespace
}  // namespace tenon::regions_test
