// What is kept for each binding, and many threads at once.
#include <memory>
#include <thread>

#include "devices/cpu/cpu_device.h"
#include "support/arrays.h"
#include "support/loop_builder.h"
#include "support/loop_kernels.h"
#include "support/programs.h"

namespace tenon::specialization_test {
namespace {

ProgramBuilder scale_program() {
  ProgramBuilder program("scale");
  const int x = program.input("x", Shape::parse("f32[2*n]"));
  const int t = program.intermediate(f32, 2 * Extent::name("n"));
  const int y = program.output("y", Shape::parse("f32[2*n]"));
  program.step(scale_kernel(2 * Extent::name("n"), 3, 1), {x, t});
  program.step(scale_kernel(2 * Extent::name("n"), 2, 0), {t, y});
  return program;
}

TEST(Specialization, EachSizeIsPreparedOnce) {
  const Executable executable = scale_program().executable();
  for (int round = 0; round < 3; ++round) {
    for (const int64_t n : {2, 4, 6}) {
      executable.run({Array(f32, {n})});
    }
  }
  const RunCounters counters = executable.counters();
  EXPECT_EQ(counters.runs, 9);
  EXPECT_EQ(counters.specializations, 3);
  EXPECT_EQ(counters.hits, 6);
  EXPECT_EQ(counters.evictions, 0);
  EXPECT_GT(counters.cached_bytes, 3 * 200);
}

TEST(Specialization, PreparedAheadIsAHit) {
  const Executable executable = scale_program().executable();
  executable.specialize({{"n", 5}});
  EXPECT_EQ(executable.run({Array(f32, {10})})[0].at(9), 2);
  EXPECT_EQ(executable.counters().specializations, 1);
  EXPECT_EQ(executable.counters().hits, 1);
  EXPECT_EQ(error_text([&] { executable.specialize({}); }),
            "axis `n` is not bound (nothing is)\n  in axis 0 of f32[2*n]");
}

TEST(Specialization, NamesOfRunOptionsAreInTheKey) {
  ProgramBuilder program("free");
  const int x = program.input("x", shape(f32, "m"));
  program.view("y", shape(f32, "averylongname", "m"), x, 0, {0, 1});
  const Executable executable = program.executable();
  const auto dims = [&](const Bindings& bindings) {
    return executable.run({Array(f32, {2})}, {.threads = 0, .bindings = bindings})[0].dims();
  };
  EXPECT_EQ(dims({{"averylongname", 3}}), (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(dims({{"averylongname", 4}}), (std::vector<int64_t>{4, 2}));
  EXPECT_EQ(dims({{"averylongname", 4}, {"m", 2}}), (std::vector<int64_t>{4, 2}));
  executable.specialize({{"m", 2}, {"averylongname", 3}});
  EXPECT_EQ(executable.counters().specializations, 2) << "what an input shows is in the key once";
}

TEST(Specialization, SizesFromTheValuesOfAnInput) {
  ProgramBuilder builder("given");
  const int x = builder.input("x", shape(f32, "m"));
  builder.input("sizes", shape(i32, 2));
  builder.view("y", shape(f32, "rows", "cols", "m"), x, 0, {0, 0, 1});
  Signature signature = signature_of(builder.program());
  signature.inputs[1].gives = {"rows", "cols"};
  const Executable executable = executable_of(builder.program(), std::move(signature), {});
  const auto run = [&](const std::vector<int32_t>& sizes, const Bindings& known = {}) {
    return executable.run({Array(f32, {5}), Array::from<int32_t>({2}, sizes)}, {.bindings = known})[0].dims();
  };
  EXPECT_EQ(run({2, 3}), (std::vector<int64_t>{2, 3, 5}));
  EXPECT_EQ(run({3, 2}), (std::vector<int64_t>{3, 2, 5}));
  EXPECT_EQ(run({0, 1}), (std::vector<int64_t>{0, 1, 5}));
  EXPECT_EQ(run({2, 3}, {{"rows", 2}}), (std::vector<int64_t>{2, 3, 5}));
  executable.specialize({{"m", 5}, {"rows", 3}, {"cols", 2}});
  EXPECT_EQ(executable.counters().specializations, 3);
  EXPECT_EQ(executable.counters().hits, 1);
  EXPECT_EQ(error_text([&] { run({2, -3}); }), "input `sizes` gives axis `cols` the size -3, which cannot be negative");
  EXPECT_NE(error_text([&] { run({2, 3}, {{"rows", 4}}); }), "no error");

  std::vector<int64_t> apart = {7, 0, 4};
  EXPECT_NE(error_text([&] {
              const std::vector<TensorView> views = {{.data = apart.data(), .dims = {0}},
                                                     {.data = apart.data(), .dtype = i64, .dims = {2}, .strides = {2}}};
              executable.run_borrowed(views);
            }).find("i32"),
            std::string::npos);
  std::vector<int32_t> strided = {7, 0, 4};
  const std::vector<TensorView> views = {{.data = nullptr, .dims = {0}},
                                         {.data = strided.data(), .dtype = i32, .dims = {2}, .strides = {2}}};
  EXPECT_EQ(executable.run_borrowed(views)[0].dims(), (std::vector<int64_t>{7, 4, 0}));
}

TEST(Specialization, TheCacheStaysWithinItsBudget) {
  constexpr int64_t kBudget = 20000;
  const Executable executable = scale_program().executable({}, {.memory_budget = 4 * kBudget});
  for (int64_t n = 0; n < 400; n += 2) {
    EXPECT_EQ(executable.run({Array::full(f32, {n}, 1)})[0].dims(), (std::vector<int64_t>{n}));
    EXPECT_LE(executable.counters().cached_bytes, kBudget);
    executable.run({Array(f32, {0})});
  }
  const RunCounters counters = executable.counters();
  EXPECT_GT(counters.evictions, 0);
  EXPECT_EQ(counters.specializations, 200) << "the one that was always in use was never evicted";
}

TEST(Specialization, IdleMemoryStaysWithinItsBudget) {
  const Executable executable = scale_program().executable({}, {.memory_budget = 100000});
  for (int64_t n = 2; n < 50000; n = n * 3 / 2 / 2 * 2 + 2) {
    executable.run({Array(f32, {n})});
    EXPECT_LE(executable.counters().idle_bytes, 100000);
  }
  EXPECT_GT(executable.counters().idle_bytes, 0);
}

TEST(Specialization, ManyThreadsRunOneExecutable) {
  Pool pool(3);
  const Executable executable = scale_program().executable({}, {.device = std::make_shared<devices::CpuDevice>(pool)});
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&executable, t] {
      for (int round = 0; round < 40; ++round) {
        const int64_t n = 2 * ((t + round) % 5) * (round % 2 == 0 ? 1 : 5000);
        const auto value = static_cast<double>(t * 100 + round);
        const Executable copy = executable;
        const Array y = copy.run({Array::full(f32, {n}, value)})[0];
        ASSERT_TRUE(same(y, Array::full(f32, {n}, 2 * (3 * value + 1))));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(executable.counters().runs, 320);
  EXPECT_EQ(executable.counters().specializations, 9) << "0, and four sizes of each kind";
}

TEST(Specialization, ManyThreadsAtRandomSizesWhileOthersAreEvicted) {
  Pool pool(3);
  const Executable executable =
      scale_program().executable({}, {.memory_budget = 60000, .device = std::make_shared<devices::CpuDevice>(pool)});
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 8; ++t) {
    threads.emplace_back([&executable, t] {
      std::mt19937_64 rng(t);
      for (int round = 0; round < 60; ++round) {
        const auto n = static_cast<int64_t>(2 * (rng() % (round % 8 == 0 ? 20000 : 100)));
        const auto value = static_cast<double>(rng() % 1000);
        const Array y = executable.run({Array::full(f32, {n}, value)}, {.threads = static_cast<int>(rng() % 4)})[0];
        ASSERT_TRUE(same(y, Array::full(f32, {n}, 2 * (3 * value + 1))));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  const RunCounters counters = executable.counters();
  EXPECT_GT(counters.evictions, 0);
  EXPECT_EQ(counters.specializations + counters.hits, 480);
  EXPECT_LE(counters.cached_bytes + counters.idle_bytes, 60000);
}

TEST(Specialization, ManyThreadsThatAllFail) {
  ProgramBuilder program("free");
  const int x = program.input("x", shape(f32, 1));
  program.view("y", shape(f32, "n"), x, 0, {0});
  const Executable executable = program.executable();
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        EXPECT_EQ(error_text([&] { executable.run({Array(f32, {1})}); }), "axis `n` is not bound (nothing is)");
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(executable.counters().specializations, 0);
}

TEST(Specialization, ResultsAreTheSameBitsForAnyNumberOfThreads) {
  const LoopCase softmax = softmax_case();
  std::mt19937_64 rng(11);
  const Array x = random_array(f32, {300 * 501}, rng);
  std::vector<Array> results;
  for (const int size : {1, 2, 7}) {
    Pool pool(size);
    const Executable executable =
        program_of(softmax.kernel).executable({}, {.device = std::make_shared<devices::CpuDevice>(pool)});
    for (const int threads : {0, 1, 2, 7}) {
      results.push_back(executable.run({x}, {.threads = threads, .bindings = {{"rows", 300}, {"cols", 501}}})[0]);
      EXPECT_TRUE(same(results.back(), results.front())) << threads << " of " << size;
    }
  }
}

}  // namespace
}  // namespace tenon::specialization_test
