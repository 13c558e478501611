// Kernels mapped to blocks of threads, in the interpreter, against plain loops.
#include "kernel/loop/loop_threads.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <variant>
#include <vector>

#include "kernel/facts/kernel_facts.h"
#include "kernel/loop/loop_parse.h"
#include "kernel/loop/loop_run.h"
#include "kernel/program/program_bytes.h"
#include "support/arrays.h"
#include "support/loop_launch.h"
#include "support/mapped_kernels.h"
#include "tenon/bindings.h"

namespace tenon::loop_threads_test {
namespace {

/// Around the blocks of all cases: 8, 16, 32, 64 and 256.
const std::vector<int64_t> kSizes = {0, 1, 2, 7, 8, 9, 15, 16, 17, 33, 63, 64, 65, 128, 255, 256, 257, 700};

class MappedCase : public testing::TestWithParam<LoopCase> {};

TEST_P(MappedCase, MatchesPlainLoops) {
  const LoopCase& each = GetParam();
  const KernelEntry entry = loops::interpreted(each.kernel);
  for (const Bindings& bindings : loop_bindings(kSizes)) {
    SCOPED_TRACE(bindings.to_string());
    std::vector<Array> expected = make_buffers(each.kernel, bindings, 7);
    each.prepare(bindings, expected);
    std::vector<Array> actual = expected;
    launch(each.kernel, entry, bindings, actual);
    each.reference(bindings, expected);
    for (size_t i = 0; i < actual.size(); ++i) {
      if (each.kernel.buffers[i].role == loops::Role::output) {
        ASSERT_TRUE(close(actual[i], expected[i], each.relative, each.absolute)) << "buffer " << i;
      }
    }
  }
}

TEST_P(MappedCase, AnySplitOfTheGridGivesTheSameBits) {
  const LoopCase& each = GetParam();
  const Bindings bindings = {{"rows", 5}, {"cols", 700}};
  std::vector<Array> whole = make_buffers(each.kernel, bindings, 7);
  each.prepare(bindings, whole);
  std::vector<Array> split = whole;
  launch(each.kernel, loops::interpreted(each.kernel), bindings, whole);
  launch(each.kernel, loops::interpreted(each.kernel, loops::RaceSearch::never), bindings, split, 1);
  for (size_t i = 0; i < whole.size(); ++i) {
    EXPECT_TRUE(same(split[i], whole[i])) << "buffer " << i;
  }
}

TEST_P(MappedCase, IsReadBack) {
  const loops::Kernel& kernel = GetParam().kernel;
  const loops::Kernel parsed = loops::parse_kernel(to_string(kernel));
  EXPECT_EQ(to_string(parsed), to_string(kernel));
  EXPECT_EQ(to_string(parsed, true), to_string(kernel, true));
  EXPECT_EQ(parsed.buffers, kernel.buffers);
}

std::string case_name(const testing::TestParamInfo<LoopCase>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Kernels, MappedCase, testing::ValuesIn(mapped_cases()), case_name);

TEST(LoopThreads, CanonicalTextSaysWhereAnAxisRunsAndWhatBelongsToABlock) {
  EXPECT_EQ(to_string(mapped_transpose_case().kernel, true), R"(kernel
  axes    x0: s0 blocks   x1: s1 blocks   x2: 8 threads   x3: 8 threads
  buffers b0 in f32[]   b1 out f32[]   b2 block scratch f32[72]
  phase grid(x0, x1)
    loop x2
      loop x3
        v0 = load b0[s2*x0 + 8*x1 + s3*x2 + x3] if 0 <= 8*x0 + x2 < s4 and 0 <= 8*x1 + x3 < s3
        b2[9*x2 + x3] = v0
    barrier
    loop x2
      loop x3
        v1 = load b2[x2 + 9*x3]
        b1[8*x0 + s5*x1 + s4*x2 + x3] = v1 if 0 <= 8*x0 + x3 < s4 and 0 <= 8*x1 + x2 < s3
)");
}

TEST(LoopThreads, AreCounted) {
  const loops::Kernel product = mapped_product_case().kernel;
  EXPECT_EQ(threads_of(product, product.phases[0]), 64);
  EXPECT_EQ(loops::most_threads(product), 64);
  EXPECT_EQ(loops::most_threads(loop_cases()[0].kernel), 1);
  const loops::Kernel logical = mapped_logical_case().kernel;
  EXPECT_EQ(parts_of(logical, std::get<loops::Loop>(logical.phases[0].body[0].what), 1), 16);
}

/// A barrier is no work.
TEST(LoopThreads, HaveFacts) {
  const loops::Kernel kernel = mapped_transpose_case().kernel;
  loops::Kernel unordered = kernel;
  std::erase_if(unordered.phases[0].body,
                [](const loops::Statement& each) { return std::holds_alternative<loops::Barrier>(each.what); });
  ASSERT_LT(unordered.phases[0].body.size(), kernel.phases[0].body.size());
  const loops::KernelFacts facts = loops::facts_of(kernel);
  EXPECT_EQ(facts.phases[0].work, loops::facts_of(unordered).phases[0].work);
  EXPECT_EQ(facts.arguments[2].scope, loops::Scope::block);
  EXPECT_EQ(facts.scratch_bytes, Extent(320));
  Program program;
  program.facts = {facts};
  EXPECT_EQ(program_from_bytes(to_bytes(program)).facts, program.facts);
}

TEST(LoopThreads, HaveScratchOfTheirOwn) {
  const loops::Kernel kernel = mapped_product_case().kernel;
  EXPECT_EQ(scratch_bytes(kernel), Extent(64 * 4 + 128 * 4 + 64 * 2 * 4));
}

/// Sums whose order shows in their bits.
template <class T>
void expect_order(Dtype dtype, ReduceOp op, T none, const std::function<T(T, T)>& combine) {
  for (const int64_t threads : {1, 2, 3, 5, 31, 32, 33, 64, 100, 1024}) {
    SCOPED_TRACE(fmt::format("{} of {} by {} threads", name(op), name(dtype), threads));
    const loops::Kernel kernel = combining_kernel(op, dtype, threads);
    std::vector<Array> buffers = make_buffers(kernel, {}, 3);
    const auto x = buffers[0].values<T>();
    const T expected = combined_in_order<T>({x.begin(), x.end()}, none, combine);
    launch(kernel, loops::interpreted(kernel), {}, buffers);
    EXPECT_EQ(buffers[1].values<T>()[0], expected);
  }
}

TEST(LoopThreads, CombineInTheOrderOfTheDocument) {
  expect_order<float>(f32, ReduceOp::sum, 0, std::plus());
  expect_order<float>(f32, ReduceOp::product, 1, std::multiplies());
  expect_order<double>(f64, ReduceOp::sum, 0, std::plus());
  expect_order<int32_t>(i32, ReduceOp::sum, 0, std::plus());
  expect_order<float>(f32, ReduceOp::min, 0, [](float a, float b) { return std::min(a, b); });
}

TEST(LoopThreads, ThatAreNotThereHaveNoPart) {
  loops::Kernel kernel = loops::parse_kernel(R"(kernel short
  axes    b: (n+7) floordiv 8 blocks   t: 8 tile b of n threads
  buffers b0 in f32[n]   b1 out f32[(n+7) floordiv 8]
  phase grid(b)
    loop t begins a0
      v0 = load b0[8*b + t]
      a0 max= v0
    v1 = result a0
    b1[b] = v1
)");
  std::vector<Array> buffers = make_buffers(kernel, {{"n", 11}}, 3);
  for (float& x : buffers[0].mutable_values<float>()) {
    x = -5;
  }
  launch(kernel, loops::interpreted(kernel), {{"n", 11}}, buffers);
  EXPECT_TRUE(same(buffers[1], Array::from<float>({2}, {-5, -5})));
}

}  // namespace
}  // namespace tenon::loop_threads_test
