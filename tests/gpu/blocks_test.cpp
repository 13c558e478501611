// Kernels mapped to blocks of threads give what plain loops give, in the loop interpreter, which finds races.
#include <gtest/gtest.h>

#include "kernel/loop/loop_run.h"
#include "schedule/blocks/map_to_blocks.h"
#include "support/arrays.h"
#include "support/differential.h"
#include "support/error_text.h"
#include "support/loop_kernels.h"
#include "support/loop_launch.h"
#include "support/model_cases.h"
#include "tenon/tenon.h"
#include "tenon/text.h"

namespace tenon::blocks_test {
namespace {

CompileOptions on_blocks() { return {.native = false, .machine = machine_named("sm_90a")}; }

class Blocks : public testing::TestWithParam<LoopCase> {};

/// Around a warp and a block.
const std::vector<int64_t> kSizes = {0, 1, 2, 31, 32, 33, 100, 255, 256, 257, 700};

TEST_P(Blocks, MatchPlainLoops) {
  const LoopCase& each = GetParam();
  const loops::Kernel mapped = schedule::map_to_blocks(each.kernel);
  ASSERT_NO_THROW(loops::verify(mapped)) << to_string(mapped);
  const KernelEntry entry = loops::interpreted(mapped);
  for (const Bindings& bindings : loop_bindings(kSizes)) {
    SCOPED_TRACE(bindings.to_string());
    std::vector<Array> expected = make_buffers(each.kernel, bindings, 7);
    each.prepare(bindings, expected);
    std::vector<Array> actual = expected;
    const KernelStatus status = launch(mapped, entry, bindings, actual);
    const KernelStatus wanted = each.reference(bindings, expected);
    ASSERT_EQ(status.failed, wanted.failed);
    for (size_t i = 0; i < actual.size() && wanted.failed == 0; ++i) {
      if (each.kernel.buffers[i].role == loops::Role::output) {
        ASSERT_TRUE(close(actual[i], expected[i], each.relative, each.absolute)) << "buffer " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Blocks, testing::ValuesIn(loop_cases()),
                         [](const auto& each) { return each.param.name; });

TEST(BlocksOf, RandomGraphs) {
  for (uint64_t seed = 9000; seed < 9060; ++seed) {
    const RandomGraph random = random_graph(seed);
    for (const bool streamed : {false, true}) {
      CompileOptions options = on_blocks();
      options.fuse = seed % 4 != 0;
      if (streamed) options.most_row_bytes = 0;
      const auto difference = find_difference(random, seed, options);
      EXPECT_FALSE(difference) << "seed " << seed << ": " << *difference << "\n" << to_text(random.graph);
    }
  }
}

TEST(BlocksOf, Models) {
  for (const ModelCase& each : model_cases()) {
    const Model model = each.build();
    const Executable executable = compile(model.graph, on_blocks());
    const Bindings& bindings = each.bindings.front();
    const std::vector<Array> inputs = inputs_of(model, bindings, each.tokens);
    const auto expected = interpret(model.graph, inputs, {.bindings = bindings});
    const auto actual = executable.run(inputs, {.bindings = bindings});
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(close(actual[i], expected[i], 1e-3, 1e-4)) << each.name << ", output " << i;
    }
  }
}

/// Long sums, tiles that are not whole, rows and columns around those of a block.
TEST(BlocksOf, Products) {
  const Value x = input("x", shape(f32, "m", "k"));
  const Value y = input("y", shape(f32, "k", "n"));
  const Graph graph({x, y}, {{"z", softmax(matmul(x, y) * 0.125) + 1.0}});
  const Executable executable = compile(graph, on_blocks());
  std::mt19937_64 random(5);
  for (const std::vector<int64_t>& size : std::vector<std::vector<int64_t>>{
           {1, 1, 1}, {3, 0, 5}, {0, 4, 4}, {31, 33, 129}, {65, 7, 40}, {2, 5000, 3}, {130, 20, 260}}) {
    const std::vector<Array> inputs{random_array(f32, {size[0], size[1]}, random),
                                    random_array(f32, {size[1], size[2]}, random)};
    const auto expected = interpret(graph, inputs);
    EXPECT_TRUE(close(executable.run(inputs)[0], expected[0], 1e-4, 1e-5))
        << size[0] << " by " << size[1] << " by " << size[2];
  }
}

}  // namespace
}  // namespace tenon::blocks_test
