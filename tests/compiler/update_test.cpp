// Updates are loops: the new value where the path sees it, the base elsewhere.
#include <gtest/gtest.h>

#include <algorithm>

#include "ops/make.h"
#include "support/compiled.h"
#include "tenon/autodiff.h"
#include "tenon/ops.h"

namespace tenon::update_test {
namespace {

bool is_kernels(const Executable& executable) {
  return std::ranges::all_of(executable.steps(), [](const StepReport& step) {
    return step.kind == StepKind::kernel || step.kind == StepKind::copy;
  });
}

TEST(CompiledUpdate, JoinsWhatMakesTheValue) {
  const Value cache = input("cache", shape(f32, "batch", "total", 4));
  const Value fresh = input("fresh", shape(f32, "batch", "seq", 4));
  const Graph graph({cache, fresh}, {{"cache", update_slice(cache, fresh * 2.0, {0, 0, 0})}});
  const Executable executable = compile(graph, {.disk_cache = false});
  EXPECT_EQ(executable.kernel_count(), 1) << executable.explain();
  EXPECT_TRUE(is_kernels(executable));
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

/// `base` with `value` written through `path`, in every way.
void expect_kernels(const Value& base, const Value& value, const std::vector<View>& path,
                    std::vector<Bindings> at = {}) {
  const Graph graph({base, value}, {{"y", make(Update{path}, {base, value})}});
  EXPECT_TRUE(is_kernels(compile(graph, {.native = false})));
  EXPECT_TRUE(matches_every_way(graph, {.at = std::move(at)}));
}

TEST(CompiledUpdate, ThroughSteps) {
  const Extent n = Extent::name("n");
  expect_kernels(input("x", shape(f32, 3 * n + 1)), input("v", shape(f32, "n")), {Slice{{0}, {n}, {3}}});
  expect_kernels(input("x", shape(f32, 3 * n + 1)), input("v", shape(f32, "n")), {Slice{{1}, {n}, {3}}});
  expect_kernels(input("x", shape(i32, "m", 7)), input("v", shape(i32, "m", 2)),
                 {Slice{{0, 1}, {Extent::name("m"), 2}, {1, 4}}});
  expect_kernels(input("x", shape(boolean, 9, 9)), input("v", shape(boolean, 4, 3)), {Slice{{1, 2}, {4, 3}, {2, 3}}});
}

TEST(CompiledUpdate, ThroughOtherViews) {
  const Extent n = Extent::name("n");
  expect_kernels(input("x", shape(f32, "n", 6)), input("v", shape(f32, "n", 6)), {Flip{{1}}});
  expect_kernels(input("x", shape(f32, "n", 6)), input("v", shape(f32, "n", 2)),
                 {Reshape{{n, 2, 3}}, Slice{{0, 0, 1}, {n, 2, 1}, {1, 1, 1}}, Reshape{{n, 2}}});
  expect_kernels(input("x", shape(f32, 6, "n")), input("v", shape(f32, "n", 3)),
                 {Transpose{{1, 0}}, Flip{{0}}, Slice{{0, 1}, {n, 3}, {1, 2}}});
}

TEST(CompiledUpdate, GradientsOfSlicesWithSteps) {
  const Value x = input("x", shape(f32, "n", 9));
  const Value y = reduce_sum(slice_axis(x, 1, 1, {}, 3) * slice_axis(x, 1, 0, Extent(7), 3));
  const Graph graph({x}, {{"d", gradients(y, {x})[0]}});
  EXPECT_TRUE(is_kernels(compile(graph, {.native = false})));
  EXPECT_TRUE(matches_every_way(graph));
}

}  // namespace
}  // namespace tenon::update_test
