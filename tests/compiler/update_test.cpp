// Updates are loops: the new value where the path sees it, the base elsewhere.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/compiled.h"
#include "tenon/ops.h"

namespace tenon {
namespace {

bool has_host_step(const Executable& executable) {
  return std::ranges::any_of(executable.steps(), [](const StepReport& step) {
    return step.kind != StepKind::kernel && step.kind != StepKind::copy;
  });
}

TEST(CompiledUpdate, JoinsWhatMakesTheValue) {
  const Value cache = input("cache", shape(f32, "batch", "total", 4));
  const Value fresh = input("fresh", shape(f32, "batch", "seq", 4));
  const Graph graph({cache, fresh}, {{"cache", update_slice(cache, fresh * 2.0, {0, 0, 0})}});
  const Executable executable = compile(graph, {.disk_cache = false});
  EXPECT_EQ(executable.kernel_count(), 1) << executable.explain();
  EXPECT_FALSE(has_host_step(executable));
  EXPECT_TRUE(compiled_matches(graph, {.compile = {.disk_cache = false}}));
}

TEST(CompiledUpdate, AtAnOffsetThatAnAxisDecides) {
  const Value cache = input("cache", shape(f32, "total", 4));
  const Value fresh = input("fresh", shape(f32, "seq", 4));
  const Value past = input("past", shape(f32, "past"));
  const Graph graph({cache, fresh, past},
                    {{"cache", update_slice(cache, fresh, {Extent::name("past"), 0}) + reduce_sum(past)}});
  EXPECT_TRUE(compiled_matches(graph, {.compile = {.disk_cache = false}}));
}

}  // namespace
}  // namespace tenon
