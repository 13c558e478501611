// Networks of convolutions with constant weights, whose images lie with their channels side by side, against the
// interpreter.
#include <gtest/gtest.h>

#include "support/compiled.h"
#include "support/random_network.h"
#include "tenon/tenon.h"

namespace tenon::images_test {
namespace {

void expect_equal(uint64_t seed) {
  const Graph graph = random_network(seed);
  const double error = graph.inputs()[0].dtype() == f16 ? 2e-2 : 1e-4;
  EXPECT_TRUE(matches_every_way(graph, {.bindings = 4, .relative = error, .of_largest = error / 10}))
      << "seed " << seed << "\n"
      << to_text(graph, {.max_constant_elements = 0});
}

class Networks : public testing::TestWithParam<uint64_t> {};
class SlowNetworks : public testing::TestWithParam<uint64_t> {};

TEST_P(Networks, EqualTheInterpreter) { expect_equal(GetParam()); }
TEST_P(SlowNetworks, EqualTheInterpreter) {
  for (uint64_t seed = GetParam() * 10; seed < GetParam() * 10 + 10; ++seed) {
    expect_equal(seed);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Networks, testing::Range(uint64_t{1000}, uint64_t{1008}));
INSTANTIATE_TEST_SUITE_P(Seeds, SlowNetworks, testing::Range(uint64_t{0}, uint64_t{12}));

}  // namespace
}  // namespace tenon::images_test
