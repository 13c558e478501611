// The graphs of the kernel-count table compute what the interpreter does; the counts themselves are ./dev counts,
// which runs as a test, too.
#include <gtest/gtest.h>

#include "support/compiled.h"
#include "support/count_graphs.h"

namespace bench::counts_test {
namespace {

class CountGraphs : public testing::TestWithParam<CountGraph> {};

constexpr double kOfLargest = 1e-5;

TEST_P(CountGraphs, EqualTheInterpreterInTheLoopInterpreter) {
  EXPECT_TRUE(tenon::compiled_matches(GetParam().graph, {.compile = {.native = false}, .of_largest = kOfLargest}));
}

TEST_P(CountGraphs, EqualTheInterpreterNatively) {
  EXPECT_TRUE(tenon::compiled_matches(GetParam().graph, {.compile = {.disk_cache = false}, .of_largest = kOfLargest}));
}

TEST_P(CountGraphs, EqualTheInterpreterWithoutFusion) {
  EXPECT_TRUE(tenon::compiled_matches(GetParam().graph,
                                      {.compile = {.fuse = false, .disk_cache = false}, .of_largest = kOfLargest}));
}

/// Races are found, and end it.
TEST_P(CountGraphs, EqualTheInterpreterInBlocksOfThreads) {
  const tenon::CompileOptions blocks{.native = false, .machine = tenon::machine_named("sm_90a")};
  EXPECT_TRUE(tenon::compiled_matches(GetParam().graph, {.compile = blocks, .bindings = 3, .of_largest = kOfLargest}));
}

INSTANTIATE_TEST_SUITE_P(Products, CountGraphs, testing::ValuesIn(product_graphs()),
                         [](const auto& each) { return each.param.name; });
INSTANTIATE_TEST_SUITE_P(All, CountGraphs, testing::ValuesIn(count_graphs()),
                         [](const auto& each) { return each.param.name; });
INSTANTIATE_TEST_SUITE_P(Tensors, CountGraphs, testing::ValuesIn(tensor_graphs()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace bench::counts_test
