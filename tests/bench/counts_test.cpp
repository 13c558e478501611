// The graphs of the kernel-count table compute what the interpreter does; the counts themselves are ./dev counts.
#include <gtest/gtest.h>

#include "support/compiled.h"
#include "support/count_graphs.h"

namespace bench {
namespace {

class CountGraphs : public testing::TestWithParam<CountGraph> {};

TEST_P(CountGraphs, EqualTheInterpreterInTheLoopInterpreter) {
  EXPECT_TRUE(tenon::compiled_matches(GetParam().graph, {.compile = {.native = false}}));
}

TEST_P(CountGraphs, EqualTheInterpreterNatively) {
  EXPECT_TRUE(tenon::compiled_matches(GetParam().graph, {.compile = {.disk_cache = false}}));
}

TEST_P(CountGraphs, EqualTheInterpreterWithoutFusion) {
  EXPECT_TRUE(tenon::compiled_matches(GetParam().graph, {.compile = {.fuse = false, .disk_cache = false}}));
}

INSTANTIATE_TEST_SUITE_P(All, CountGraphs, testing::ValuesIn(count_graphs()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace bench
