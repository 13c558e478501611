// Which sizes came, how often, and what Prometheus is told of it.
#include "tenon/size_counts.h"

#include <fmt/format.h>

#include <numeric>

#include "support/arrays.h"
#include "support/loop_builder.h"
#include "support/loop_kernels.h"
#include "support/programs.h"

namespace tenon::size_counts_test {
namespace {

Executable named(const std::string& name) {
  ProgramBuilder program(name);
  const int x = program.input("x", shape(f32, "n"));
  const int y = program.output("y", shape(f32, "n"));
  program.step(scale_kernel(Extent::name("n"), 3, 1), {x, y});
  return program.executable();
}

Executable scale(int64_t memory_budget = kDefaultMemoryBudget) {
  ProgramBuilder program("scale");
  const int x = program.input("x", Shape::parse("f32[2*n]"));
  const int y = program.output("y", Shape::parse("f32[2*n]"));
  program.step(scale_kernel(2 * Extent::name("n"), 3, 1), {x, y});
  return program.executable({}, {.memory_budget = memory_budget});
}

void run(const Executable& executable, int64_t n, int times = 1) {
  for (int i = 0; i < times; ++i) {
    executable.run({Array(f32, {2 * n})});
  }
}

int64_t sum(const SizeCounts::Times& times) { return std::accumulate(times.begin(), times.end(), int64_t{0}); }

TEST(SizeCounts, TheMostUsedComeFirst) {
  const Executable executable = scale();
  run(executable, 0);
  run(executable, 1, 3);
  run(executable, 7, 5);
  executable.specialize({{"n", 9}});
  const SizeCounts counts = size_counts(executable);
  ASSERT_EQ(counts.sizes.size(), 4);
  EXPECT_EQ(counts.sizes[0].bindings, Bindings({{"n", 7}}));
  EXPECT_EQ(counts.sizes[0].hits, 4);
  EXPECT_EQ(counts.sizes[0].specializations, 1);
  EXPECT_EQ(counts.sizes[0].evictions, 0);
  EXPECT_GT(counts.sizes[0].specialize_ms, 0);
  EXPECT_EQ(counts.sizes[1].bindings, Bindings({{"n", 1}}));
  EXPECT_EQ(counts.sizes[1].uses(), 3);
  EXPECT_EQ(counts.other_sizes, 0);
  EXPECT_EQ(sum(counts.times), 4);
  int64_t bytes = 0;
  for (const SizeCount& size : counts.sizes) {
    bytes += size.bytes;
  }
  EXPECT_EQ(bytes, executable.counters().cached_bytes);
}

TEST(SizeCounts, TimesAddUp) {
  const Executable executable = scale(40000);  // a quarter of which holds some sizes
  for (int64_t n = 1; n < 40; ++n) {
    run(executable, n);
  }
  run(executable, 1);
  executable.specialize({{"n", 41}});
  executable.pre_specialize(std::vector<Bindings>{{{"n", 42}}, {{"n", 1}}});
  const SizeCounts counts = size_counts(executable, 3);
  double ms = counts.others.specialize_ms;
  int64_t hits = counts.others.hits;
  for (const SizeCount& size : counts.sizes) {
    ms += size.specialize_ms;
    hits += size.hits;
  }
  EXPECT_NEAR(ms, executable.counters().specialize_ms, 1e-9 * ms);
  EXPECT_EQ(hits, executable.counters().hits);
}

TEST(SizeCounts, TheRestIsOneSum) {
  const Executable executable = scale();
  for (int64_t n = 1; n <= 5; ++n) {
    run(executable, n, static_cast<int>(n));
  }
  const SizeCounts counts = size_counts(executable, 2);
  ASSERT_EQ(counts.sizes.size(), 2);
  EXPECT_EQ(counts.sizes[1].bindings, Bindings({{"n", 4}}));
  EXPECT_EQ(counts.other_sizes, 3);
  EXPECT_EQ(counts.others.uses(), 1 + 2 + 3);
  EXPECT_EQ(counts.others.specializations, 3);
}

TEST(SizeCounts, WhatWasEvictedIsRemembered) {
  const Executable executable = scale(40000);  // a quarter of which holds some sizes
  run(executable, 1);
  for (int64_t n = 2; n < 40; ++n) {
    run(executable, n);
  }
  run(executable, 1);
  const SizeCounts counts = size_counts(executable, 1);
  ASSERT_EQ(counts.sizes.size(), 1);
  EXPECT_EQ(counts.sizes[0].bindings, Bindings({{"n", 1}}));
  EXPECT_EQ(counts.sizes[0].specializations, 2);
  EXPECT_EQ(counts.sizes[0].evictions, 1);
  EXPECT_GT(counts.sizes[0].bytes, 0);
}

TEST(SizeCounts, TheNumberOfRememberedSizesIsBounded) {
  const Executable executable = scale(40000);
  constexpr int64_t kSizes = 600;
  for (int64_t n = 0; n < kSizes; ++n) {
    run(executable, n);
  }
  const SizeCounts counts = size_counts(executable, 100000);
  EXPECT_LT(counts.sizes.size(), 400);
  EXPECT_EQ(std::ssize(counts.sizes) + counts.other_sizes, kSizes);
  EXPECT_GT(counts.others.evictions, 0);
  int64_t evictions = counts.others.evictions;
  for (const SizeCount& size : counts.sizes) {
    evictions += size.evictions;
  }
  const RunCounters counters = executable.counters();
  EXPECT_EQ(counters.evictions, evictions);
  EXPECT_EQ(counters.specializations, kSizes);
  EXPECT_EQ(counters.hits, 0);
  EXPECT_EQ(sum(counts.times), kSizes);
}

TEST(SizeCounts, PrometheusReadsThem) {
  const std::array executables = {scale(), scale()};
  run(executables[0], 3, 4);
  const std::string text = metrics_text(executables);
  const auto has = [&](std::string_view line) { return text.find('\n' + std::string(line) + '\n') != text.npos; };
  EXPECT_TRUE(has("tenon_runs_total{model=\"scale\"} 4")) << text;
  EXPECT_TRUE(has("tenon_runs_total{model=\"scale#2\"} 0")) << "no two series have the same labels";
  EXPECT_TRUE(has("tenon_specialization_hits_total{model=\"scale\"} 3"));
  EXPECT_TRUE(has("# TYPE tenon_cached_bytes gauge"));
  EXPECT_TRUE(has("# TYPE tenon_specialize_seconds histogram"));
  EXPECT_TRUE(has("tenon_specialize_seconds_bucket{model=\"scale\",le=\"+Inf\"} 1"));
  EXPECT_TRUE(has("tenon_specialize_seconds_count{model=\"scale\"} 1"));
  EXPECT_TRUE(has("tenon_specialize_seconds_bucket{model=\"scale#2\",le=\"1e-05\"} 0"));
  for (size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1) {  // one head for each family
    const std::string line = text.substr(begin, text.find('\n', begin) - begin);
    if (line.starts_with("# TYPE")) {
      EXPECT_EQ(text.find(line), text.rfind(line)) << line;
    }
  }
}

TEST(SizeCounts, LabelsDifferAlsoFromNamesThatLookLikeThem) {
  const std::string text = metrics_text(std::array{scale(), scale(), named("scale#2"), named("scale\xff")});
  for (const std::string_view label : {"scale", "scale#2", "scale#2#2", "scale\xef\xbf\xbd"}) {
    const std::string series = fmt::format("\ntenon_runs_total{{model=\"{}\"}} 0\n", label);
    EXPECT_NE(text.find(series), text.npos) << text;
    EXPECT_EQ(text.find(series), text.rfind(series));
  }
}

TEST(SizeCounts, LabelsAreEscaped) {
  EXPECT_NE(metrics_text(named("a \"model\"\\\n")).find(R"(tenon_runs_total{model="a \"model\"\\\n"} 0)"),
            std::string::npos);
}

}  // namespace
}  // namespace tenon::size_counts_test
