// Random graphs: what is compiled gives what the interpreter gives, at every size, fused or not, on any number of
// threads. bench/soak.cpp runs more of them.

#include "support/differential.h"

#include <gtest/gtest.h>

#include "tenon/text.h"

namespace tenon::differential_test {
namespace {

constexpr uint64_t kShards = 20;
constexpr uint64_t kGraphs = 100;  // of a shard

void expect_same(const RandomGraph& random, uint64_t seed, const CompileOptions& options) {
  const auto difference = find_difference(random, seed, options);
  EXPECT_FALSE(difference) << "seed " << seed << (options.fuse ? "" : ", not fused")
                           << (options.native ? "" : ", loops interpreted")
                           << (options.most_row_bytes > 0 ? "" : ", rows streamed") << ": " << *difference << "\n"
                           << to_text(random.graph);
}

void expect_shard(uint64_t shard) {
  for (uint64_t i = 0; i < kGraphs; ++i) {
    const uint64_t seed = shard * kGraphs + i;
    const RandomGraph random = random_graph(seed);
    expect_same(random, seed, {.native = false});
    expect_same(random, seed, {.native = false, .most_row_bytes = 0});
    // Machine code takes a while to make.
    if (i % 2 == 0) {
      expect_same(random, seed, {.disk_cache = false});
    } else {
      expect_same(random, seed, {.fuse = false, .native = false});
    }
  }
}

TEST(Differential, CompiledIsInterpreted) { expect_shard(0); }

class SlowDifferential : public testing::TestWithParam<uint64_t> {};

TEST_P(SlowDifferential, CompiledIsInterpreted) { expect_shard(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Seeds, SlowDifferential, testing::Range(uint64_t{1}, kShards));

using SlowMachineCode = SlowDifferential;

TEST_P(SlowMachineCode, IsInterpreted) {
  for (uint64_t i = 0; i < kGraphs; ++i) {
    const uint64_t seed = GetParam() * kGraphs + i;
    const RandomGraph random = random_graph(seed);
    expect_same(random, seed, {.disk_cache = false});
    if (i % 4 == 0) {  // operations alone are fewer kinds of code than what is fused
      expect_same(random, seed, {.fuse = false, .disk_cache = false});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, SlowMachineCode, testing::Range(kShards, 2 * kShards));

}  // namespace
}  // namespace tenon::differential_test
