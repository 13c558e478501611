// Random graphs: what is compiled gives what the interpreter gives, at every size, fused or not, on any number of
// threads. bench/soak.cpp runs more of them.

#include "support/differential.h"

#include <gtest/gtest.h>

#include "tenon/text.h"

namespace tenon {
namespace {

constexpr uint64_t kShards = 20;
constexpr uint64_t kGraphs = 100;  // of a shard

class Differential : public testing::TestWithParam<uint64_t> {};

void expect_same(const RandomGraph& random, uint64_t seed, const CompileOptions& options) {
  const auto difference = find_difference(random, seed, options);
  EXPECT_FALSE(difference) << "seed " << seed << (options.fuse ? "" : ", not fused")
                           << (options.native ? "" : ", loops interpreted") << ": " << *difference << "\n"
                           << to_text(random.graph);
}

TEST_P(Differential, CompiledIsInterpreted) {
  for (uint64_t i = 0; i < kGraphs; ++i) {
    const uint64_t seed = GetParam() * kGraphs + i;
    const RandomGraph random = random_graph(seed);
    expect_same(random, seed, {.native = false});
    // Machine code takes a while to make.
    if (i % 2 == 0) {
      expect_same(random, seed, {.disk_cache = false});
    } else {
      expect_same(random, seed, {.fuse = false, .native = false});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Differential, testing::Range(uint64_t{0}, kShards));

using SlowDifferential = Differential;

TEST_P(SlowDifferential, MachineCodeIsInterpreted) {
  for (uint64_t i = 0; i < kGraphs; ++i) {
    const uint64_t seed = GetParam() * kGraphs + i;
    const RandomGraph random = random_graph(seed);
    expect_same(random, seed, {.disk_cache = false});
    expect_same(random, seed, {.fuse = false, .disk_cache = false});
  }
}

INSTANTIATE_TEST_SUITE_P(MoreSeeds, SlowDifferential, testing::Range(kShards, 2 * kShards));

}  // namespace
}  // namespace tenon
