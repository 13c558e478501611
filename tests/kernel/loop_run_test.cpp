// The interpreter of loop kernels against plain loops.
#include "kernel/loop/loop_run.h"

#include <cmath>
#include <limits>

#include "support/arrays.h"
#include "support/loop_builder.h"
#include "support/loop_kernels.h"
#include "support/loop_launch.h"

namespace tenon::loop_run_test {
namespace {

/// Around vector widths, and around one and two blocks of the interpreter.
const std::vector<int64_t> kSizes = {0, 1, 2, 3, 7, 8, 9, 64, 100, 255, 256, 257, 512, 1000};

class LoopRunCase : public testing::TestWithParam<LoopCase> {};

TEST_P(LoopRunCase, MatchesPlainLoops) {
  const LoopCase& each = GetParam();
  const KernelEntry entry = loops::interpreted(each.kernel);
  for (const Bindings& bindings : loop_bindings(kSizes)) {
    SCOPED_TRACE(bindings.to_string());
    std::vector<Array> expected = make_buffers(each.kernel, bindings, 7);
    each.prepare(bindings, expected);
    std::vector<Array> actual = expected;
    const KernelStatus status = launch(each.kernel, entry, bindings, actual);
    const KernelStatus wanted = each.reference(bindings, expected);
    ASSERT_EQ(status.failed, wanted.failed);
    if (wanted.failed != 0) {
      EXPECT_EQ(status.position, wanted.position);
      EXPECT_EQ(status.size, wanted.size);
      continue;
    }
    for (size_t i = 0; i < actual.size(); ++i) {
      if (each.kernel.buffers[i].role == loops::Role::output) {
        ASSERT_TRUE(close(actual[i], expected[i], each.relative, each.absolute)) << "buffer " << i;
      }
    }
  }
}

TEST_P(LoopRunCase, AnySplitOfTheGridGivesTheSameBits) {
  const LoopCase& each = GetParam();
  const KernelEntry entry = loops::interpreted(each.kernel);
  const Bindings bindings = {{"rows", 5}, {"cols", 700}};
  std::vector<Array> whole = make_buffers(each.kernel, bindings, 7);
  each.prepare(bindings, whole);
  std::vector<Array> split = whole;
  launch(each.kernel, entry, bindings, whole);
  launch(each.kernel, entry, bindings, split, 2);
  for (size_t i = 0; i < whole.size(); ++i) {
    EXPECT_TRUE(same(split[i], whole[i])) << "buffer " << i;
  }
}

std::string case_name(const testing::TestParamInfo<LoopCase>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Kernels, LoopRunCase, testing::ValuesIn(loop_cases()), case_name);

TEST(LoopRun, FailingCasesFail) {  // so that the references above do test the report
  for (const LoopCase& each : {gather_rows_case(true), gather_elements_case(true)}) {
    const Bindings bindings = {{"rows", 5}, {"cols", 9}};
    std::vector<Array> buffers = make_buffers(each.kernel, bindings, 7);
    each.prepare(bindings, buffers);
    EXPECT_NE(launch(each.kernel, loops::interpreted(each.kernel), bindings, buffers).failed, 0) << each.name;
  }
}

TEST(LoopRun, WithoutPreparation) {
  const LoopCase each = softmax_case();
  const Bindings bindings = {{"rows", 2}, {"cols", 300}};
  std::vector<Array> prepared = make_buffers(each.kernel, bindings, 7);
  std::vector<Array> direct = prepared;
  launch(each.kernel, loops::interpreted(each.kernel), bindings, prepared);
  const auto run = [&](const KernelArgs* args, int64_t phase, int64_t begin, int64_t end, void* scratch) {
    loops::run(each.kernel, args, phase, begin, end, scratch);
  };
  launch(each.kernel, run, bindings, direct);
  EXPECT_TRUE(same(direct[1], prepared[1]));
}

/// A grid of two axes, the last fastest, and a position of each.
TEST(LoopRun, GridAxesInOrder) {
  LoopBuilder k("grid");
  const int r = k.axis("r", Extent::name("rows"));
  const int c = k.axis("c", Extent::name("cols"));
  const int y = k.output(i64, Extent::name("rows") * Extent::name("cols"));
  const int count = k.output(i32, 1);
  k.phase({r, c}, [&] {
    k.store(y, affine({{r, Extent::name("cols")}, {c, 1}}), k.position(affine({{r, 100}, {c, 1}})));
    k.store(count, affine({}), k.constant(i32, 1));
  });
  std::vector<Array> buffers = make_buffers(k.kernel(), {{"rows", 2}, {"cols", 3}}, 1);
  launch(k.kernel(), loops::interpreted(k.kernel()), {{"rows", 2}, {"cols", 3}}, buffers, 1);
  EXPECT_TRUE(same(buffers[0], Array::from<int64_t>({6}, {0, 1, 2, 100, 101, 102})));
}

/// f32 accumulates in f64 and is rounded once: the small addends are not lost one by one.
TEST(LoopRun, SumsRoundOnce) {
  const LoopCase each = reduce_rows_case(ReduceOp::sum, f32);
  const Bindings bindings = {{"rows", 1}, {"cols", 1001}};
  std::vector<Array> buffers = make_buffers(each.kernel, bindings, 1);
  for (float& x : buffers[0].mutable_values<float>()) {
    x = 1;
  }
  buffers[0].mutable_values<float>()[0] = 0x1p25F;
  launch(each.kernel, loops::interpreted(each.kernel), bindings, buffers);
  EXPECT_EQ(buffers[1].values<float>()[0], 0x1p25F + 1000);
}

TEST(LoopRun, ExtremesKeepNan) {
  for (const ReduceOp op : {ReduceOp::max, ReduceOp::min}) {
    const LoopCase each = reduce_rows_case(op, f32);
    const Bindings bindings = {{"rows", 1}, {"cols", 9}};
    std::vector<Array> buffers = make_buffers(each.kernel, bindings, 1);
    buffers[0].mutable_values<float>()[4] = std::numeric_limits<float>::quiet_NaN();
    launch(each.kernel, loops::interpreted(each.kernel), bindings, buffers);
    EXPECT_TRUE(std::isnan(buffers[1].values<float>()[0])) << name(op);
  }
}

/// A cast to a half type rounds at once, not when stored.
TEST(LoopRun, CastToHalfRounds) {
  for (const Dtype half : {f16, bf16}) {
    LoopBuilder k("cast");
    const int c = k.vector_axis("c", 2);
    const int x = k.input(f32, 2);
    const int y = k.output(f32, 2);
    k.phase({}, [&] { k.loop(c, [&] { k.store(y, affine({{c, 1}}), k.cast(k.load(x, affine({{c, 1}})), half)); }); });
    std::vector<Array> buffers = {Array::from<float>({2}, {1.00001F, -3.3333F}), Array(f32, {2})};
    launch(k.kernel(), loops::interpreted(k.kernel()), {}, buffers);
    EXPECT_TRUE(same(buffers[1], buffers[0].cast(half).cast(f32))) << name(half);
    EXPECT_FALSE(same(buffers[1], buffers[0])) << name(half);
  }
}

}  // namespace
}  // namespace tenon::loop_run_test
