// Sizes that are prepared ahead, and what may be said of sizes.
#include <barrier>
#include <thread>
#include <utility>

#include "shape/constraint_set.h"
#include "support/arrays.h"
#include "support/programs.h"

namespace tenon::prepare_test {
namespace {

/// y[a, b] = x[a, b] * 2, in two steps.
Executable pair_program(const runtime::RuntimeOptions& options = {}) {
  ProgramBuilder program("pair");
  const Extent elements = Extent::name("a") * Extent::name("b");
  const int x = program.input("x", shape(f32, "a", "b"));
  const int t = program.intermediate(f32, elements);
  const int y = program.output("y", shape(f32, "a", "b"));
  program.step(scale_kernel(elements, 2, 0), {x, t});
  program.step(scale_kernel(elements, 1, 0), {t, y});
  return program.executable({}, options);
}

TEST(Prepare, AListIsPreparedAsAWhole) {
  const Executable executable = pair_program();
  executable.pre_specialize(std::vector<Bindings>{{{"a", 1}, {"b", 2}}, {{"a", 2}, {"b", 2}}, {{"b", 2}, {"a", 1}}});
  EXPECT_EQ(executable.counters().specializations, 2);
  executable.run({Array(f32, {2, 2})});
  EXPECT_EQ(executable.counters().hits, 1);
  EXPECT_EQ(executable.counters().specializations, 2);
}

TEST(Prepare, AListWithAMistakePreparesNothing) {
  const Executable executable = pair_program();
  const auto error = [&](const Bindings& bad) {
    return error_text([&] { executable.pre_specialize(std::vector<Bindings>{{{"a", 1}, {"b", 2}}, bad}); });
  };
  EXPECT_EQ(error({{"a", 1}}), "axis `b` is not bound (bound: a=1)\n  in axis 1 of f32[a, b]");
  EXPECT_EQ(error({{"a", 1}, {"b", 2}, {"c", 3}}), "graph `pair` has no axis `c` to bind to 3; it has a, b");
  EXPECT_NE(error({{"a", int64_t{1} << 31}, {"b", int64_t{1} << 31}}).find("larger than this machine's memory"),
            std::string::npos);
  EXPECT_NE(error({{"a", int64_t{1} << 62}, {"b", int64_t{1} << 62}}).find("64 bits"), std::string::npos);
  EXPECT_EQ(executable.counters().specializations, 0);
}

TEST(Prepare, UnknownNamesAreErrorsEverywhere) {
  const Executable executable = pair_program();
  const std::string expected = "graph `pair` has no axis `seq` to bind to 3; it has a, b";
  const Bindings bindings = {{"a", 1}, {"b", 1}, {"seq", 3}};
  EXPECT_EQ(error_text([&] { executable.specialize(bindings); }), expected);
  EXPECT_EQ(error_text([&] { executable.memory(bindings); }), expected);
  EXPECT_EQ(error_text([&] { executable.output_shapes(bindings); }), expected);
  EXPECT_EQ(error_text([&] { executable.run({Array(f32, {1, 1})}, {.bindings = {{"seq", 3}}}); }), expected);
  EXPECT_EQ(executable.run({Array(f32, {1, 1})}, {.bindings = {{"a", 1}}}).size(), 1u);
}

TEST(Prepare, KeysThatWouldCollideIfTheyWereMixedOrJoined) {
  const Executable executable = pair_program();
  const std::vector<std::vector<int64_t>> sizes = {{1, 2},   {2, 1}, {3, 0}, {0, 3}, {1, 23}, {12, 3},
                                                   {123, 0}, {5, 6}, {6, 5}, {7, 4}, {4, 7},  {0, 0}};
  for (const std::vector<int64_t>& dims : sizes) {  // 1^2 == 2^1 == 3^0, "1" "23" == "12" "3"
    EXPECT_EQ(executable.run({Array::full(f32, dims, 3)})[0].dims(), dims);
  }
  EXPECT_EQ(executable.counters().specializations, std::ssize(sizes));
  for (const std::vector<int64_t>& dims : sizes) {
    EXPECT_TRUE(same(executable.run({Array::full(f32, dims, 3)})[0], Array::full(f32, dims, 6)));
  }
  EXPECT_EQ(executable.counters().hits, std::ssize(sizes));
}

TEST(Prepare, OneOfManyThreadsMakesABinding) {
  constexpr int kThreads = 16;
  const Executable executable = pair_program();
  for (int64_t round = 1; round <= 20; ++round) {
    std::barrier start(kThreads);
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        start.arrive_and_wait();
        executable.run({Array(f32, {round, 3})});
      });
    }
    threads.clear();
    EXPECT_EQ(executable.counters().specializations, round);
  }
  EXPECT_EQ(executable.counters().hits, 20 * (kThreads - 1));
}

TEST(Prepare, StaticProgramsHaveNothingToPrepare) {
  ProgramBuilder program("static");
  const int x = program.input("x", Shape::parse("f32[row=2, 3]"));
  const int y = program.output("y", shape(f32, 2, 3));
  program.step(scale_kernel(6, 2, 0), {x, y});
  const Executable executable = program.executable();
  executable.specialize({});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(executable.run({Array::full(f32, {2, 3}, i)})[0].at(5), 2 * i);
  }
  EXPECT_EQ(executable.run({Array(f32, {2, 3})}, {.bindings = {{"row", 2}}}).size(), 1u);
  EXPECT_NE(error_text([&] { executable.run({Array(f32, {2, 3})}, {.bindings = {{"row", 3}}}); }), "no error");
  EXPECT_NE(error_text([&] { executable.run({Array(f32, {3, 3})}); }), "no error");
  EXPECT_EQ(executable.counters().specializations, 0);
  EXPECT_EQ(executable.counters().hits, 0);
  EXPECT_EQ(executable.counters().cached_bytes, 0);
}

TEST(Prepare, OneBudgetForAllThatIsKept) {
  const Executable executable = pair_program({.memory_budget = 200000});
  const auto kept = [&] { return executable.counters().cached_bytes + executable.counters().idle_bytes; };
  for (int64_t a = 1; a < 150; ++a) {
    executable.run({Array(f32, {a, a})});
    ASSERT_LE(kept(), 200000) << a;
  }
  EXPECT_GT(executable.counters().cached_bytes, 10000);
  EXPECT_GT(executable.counters().idle_bytes, 10000);
  executable.set_memory_budget(5000);
  EXPECT_LE(kept(), 5000);
  EXPECT_EQ(executable.run({Array(f32, {150, 150})}).size(), 1u);
  EXPECT_LE(kept(), 5000);
  EXPECT_EQ(error_text([&] { executable.set_memory_budget(-1); }), "a budget of -1 bytes");
}

TEST(Prepare, AMovedExecutableSaysSo) {
  Executable executable = pair_program();
  const Executable other = std::move(executable);
  EXPECT_EQ(error_text([&] { executable.run({Array(f32, {1, 1})}); }),  // NOLINT(bugprone-use-after-move): the point
            "this executable was moved from: it has no program any more");
  EXPECT_EQ(error_text([&] { (void)executable.name(); }), "this executable was moved from: it has no program any more");
  EXPECT_EQ(other.run({Array(f32, {1, 1})}).size(), 1u);
}

TEST(Prepare, CountersAndCapabilities) {
  const Executable executable = pair_program({.compile_ms = 7, .code = "loop interpreter"});
  executable.run({Array(f32, {100, 100})});
  executable.run({Array(f32, {100, 100})});
  const RunCounters counters = executable.counters();
  EXPECT_EQ(counters.compiles, 1);
  EXPECT_EQ(counters.runs, 2);
  EXPECT_EQ(counters.compile_ms, 7);
  EXPECT_GT(counters.specialize_ms, 0);
  EXPECT_GT(counters.run_ms, counters.specialize_ms);
  EXPECT_GE(counters.peak_memory_bytes, 2 * 40000) << "an arena and an output";
  EXPECT_GE(counters.peak_memory_bytes, counters.memory_bytes);
  EXPECT_EQ(counters.memory_bytes, counters.idle_bytes) << "nobody holds any";

  const Capabilities capabilities = executable.capabilities();
  EXPECT_TRUE(capabilities.dynamic_axes && capabilities.named_axes);
  EXPECT_EQ(capabilities.dtypes.size(), static_cast<size_t>(kDtypeCount));
  EXPECT_GE(capabilities.threads, 1);
  EXPECT_EQ(capabilities.code, "loop interpreter");
}

}  // namespace
}  // namespace tenon::prepare_test
