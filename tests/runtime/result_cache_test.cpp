// Results of earlier runs that are given again.
#include <atomic>

#include "support/arrays.h"
#include "support/programs.h"

namespace tenon::result_cache_test {
namespace {

/// y = x, counting how often it is computed.
Executable counting_program(std::atomic<int>& computed, runtime::RuntimeOptions options = {}) {
  ProgramBuilder program("counted");
  const int x = program.input("x", shape(f32, "n"));
  const int y = program.output("y", shape(f32, "n"));
  program.step(scale_kernel(Extent::name("n"), 1, 0), {x, y});
  options.before_step = [&computed](size_t) { ++computed; };  // too little to do for more than one chunk
  return program.executable({}, options);
}

TEST(ResultCache, SameContentsAreNotComputedAgain) {
  std::atomic<int> computed = 0;
  const Executable executable = counting_program(computed);
  const auto run = [&](const Array& x, bool reuse) { return executable.run({x}, {.reuse_results = reuse})[0]; };
  const Array x = Array::from<float>({3}, {1, 2, 3});
  EXPECT_TRUE(same(run(x, true), x));
  Array other = Array::from<float>({3}, {1, 2, 3});  // elsewhere
  EXPECT_TRUE(same(run(other, true), x));
  EXPECT_EQ(computed, 1);
  EXPECT_EQ(executable.counters().reused_results, 1);
  run(x, false);
  EXPECT_EQ(computed, 2) << "not asked for";
  other.mutable_values<float>()[1] = 7;
  EXPECT_TRUE(same(run(other, true), other));
  EXPECT_TRUE(same(run(Array::from<float>({2}, {1, 2}), true), Array::from<float>({2}, {1, 2})));
  EXPECT_TRUE(same(run(Array::from<float>({3}, {3, 2, 1}), true), Array::from<float>({3}, {3, 2, 1})));
  EXPECT_EQ(computed, 5);
}

TEST(ResultCache, WhatTheCallerChangesIsHisOwn) {
  std::atomic<int> computed = 0;
  const Executable executable = counting_program(computed);
  const Array x = Array::from<float>({2}, {1, 2});
  Array y = executable.run({x}, {.reuse_results = true})[0];
  y.mutable_values<float>()[0] = 9;
  EXPECT_TRUE(same(executable.run({x}, {.reuse_results = true})[0], x));
  EXPECT_EQ(computed, 1);
}

TEST(ResultCache, StaysWithinTheBudget) {
  std::atomic<int> computed = 0;
  const Executable executable = counting_program(computed, {.memory_budget = 400000});
  for (int i = 0; i < 50; ++i) {
    executable.run({Array::full(f32, {5000}, i)}, {.reuse_results = true});
    EXPECT_LE(executable.counters().cached_bytes + executable.counters().idle_bytes, 400000);
  }
  EXPECT_EQ(computed, 50);
  executable.run({Array::full(f32, {5000}, 49)}, {.reuse_results = true});
  EXPECT_EQ(computed, 50) << "the last is kept";
  executable.run({Array::full(f32, {5000}, 0)}, {.reuse_results = true});
  EXPECT_EQ(computed, 51) << "the first is not";
}

}  // namespace
}  // namespace tenon::result_cache_test
