// Every rule of verify() about blocks of threads, broken once.
#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "kernel/loop/loop_parse.h"
#include "tenon/error.h"

namespace tenon::loop_verify_threads_test {
namespace {

std::string complaint(const loops::Kernel& kernel) {
  try {
    verify(kernel);
  } catch (const InternalError& error) {
    return error.what();
  }
  return "no complaint";
}

loops::Kernel with(const std::string& phases) {
  return loops::parse_kernel(R"(kernel broken
  axes    r: 4 blocks   s: 4   t: 8 threads   u: 4 threads   c: 8 vector   n: size threads   h: 2048 threads   m: 512 threads   e: 2   f: 2   g: 2
  buffers b0 in f32[32]   b1 out f32[32]   b2 block scratch f32[8]   b3 scratch f32[8]   b4 block scratch u8[64]
)" + phases);
}

struct BadPhase {
  std::string name;
  std::string phase;
  std::string error;

  friend void PrintTo(const BadPhase& each, std::ostream* out) { *out << each.name; }
};

class Refused : public testing::TestWithParam<BadPhase> {};

TEST_P(Refused, WithItsReason) {
  const std::string said = complaint(with(GetParam().phase));
  EXPECT_NE(said.find("kernel `broken`: " + GetParam().error), std::string::npos) << said;
}

const std::vector<BadPhase> kBadPhases = {
    {"BlocksAreOfGrids", "  phase grid()\n    loop r\n", "a loop over an axis bound to blocks\n  at loop r"},
    {"ThreadsAreOfLoops", "  phase grid(t)\n", "the grid runs over an axis bound to threads"},
    {"GridsAreOfBlocksOrNot", "  phase grid(r, s)\n", "the grid is bound to blocks in part"},
    {"ThreadsAreOfBlocks", "  phase grid(s)\n    loop t\n",
     "a loop bound to threads in a phase whose grid is not bound to blocks\n  at loop t"},
    {"BarriersAreOfBlocks", "  phase grid(s)\n    barrier\n", "a barrier in a phase whose grid is not bound to blocks"},
    {"ThreadsAreNotOfLanes", "  phase grid(r)\n    loop c\n      loop t\n",
     "a loop bound to threads inside a vectorised"},
    {"NoBarrierOfSomeThreads", "  phase grid(r)\n    loop t\n      barrier\n",
     "a barrier inside a loop bound to threads\n  at barrier"},
    {"NoBarrierOfLanes", "  phase grid(r)\n    loop c\n      barrier\n", "a barrier inside a vectorised loop"},
    {"NoBarrierThatMayNotRun",
     "  phase grid(r)\n    v0 = constant bool 1\n    loop s unless v0\n      loop e\n        barrier\n",
     "a barrier inside a loop that may not run"},
    {"ThreadsAreKnown", "  phase grid(r)\n    loop n\n",
     "a loop bound to threads runs size times, which is no number from 1 to 1024"},
    {"ThreadsAreNotTooMany", "  phase grid(r)\n    loop h\n", "a loop bound to threads runs 2048 times"},
    {"ThreadsAreNotTooManyTogether", "  phase grid(r)\n    loop m\n      loop u\n",
     "a block has more than 1024 threads"},
    {"NestsHaveAllThreads", "  phase grid(r)\n    loop t\n      loop u\n    loop s\n      loop u\n",
     "a nest of loops bound to 4 threads, and one to 32\n  at loop u"},
    {"OwnScratchIsWrittenByItsThread", "  phase grid(r)\n    loop t\n    v0 = constant f32 1\n    b3[0] = v0\n",
     "b3 belongs to a thread, and several run here\n  at b3[0] = v0"},
    {"OwnScratchIsReadByItsThread",
     "  phase grid(r)\n    loop t\n      v0 = constant f32 1\n      b3[0] = v0\n    v1 = load b3[0]\n",
     "b3 belongs to a thread, and several run here\n  at v1 = load b3[0]"},
    {"OwnScratchIsNotOfSomeThreads",
     "  phase grid(r)\n    loop t\n      v0 = constant f32 1\n      b3[0] = v0\n      loop u\n",
     "b3 belongs to a thread"},
    {"ProductsAreOfBlocks",
     "  phase grid(r)\n    loop t\n      b1[0 + (2, 1)] = b0[0 + (2, 1)] * b0[0 + (2, 1)] over e by f by g\n",
     "a product inside a loop bound to threads"},
    {"AccumulatorsAreFedByAllThreadsOrNone",
     "  phase grid(r)\n    loop s begins a0\n      v0 = constant f32 1\n      loop t\n        a0 sum= v0\n      a0 "
     "sum= v0\n",
     "a0 is fed in 1 parts, and in 8 before\n  at a0 sum= v0"},
};

std::string phase_name(const testing::TestParamInfo<BadPhase>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Phases, Refused, testing::ValuesIn(kBadPhases), phase_name);

TEST(LoopVerifyThreads, BlocksHaveScratchAlone) {
  loops::Kernel kernel = with("  phase grid(r)\n");
  EXPECT_EQ(complaint(kernel), "no complaint");
  kernel.buffers[1].scope = loops::Scope::block;
  const std::string said = complaint(kernel);
  EXPECT_NE(said.find("kernel `broken`: b1 belongs to a block, and is no scratch"), std::string::npos) << said;
}

TEST(LoopVerifyThreads, NestsOfOtherLoopsMayHaveAsManyThreads) {
  EXPECT_EQ(complaint(with("  phase grid(r)\n    loop t\n      loop s\n        loop u\n    loop u\n      loop t\n")),
            "no complaint");
}

/// Each thread has what it wrote, though no address says so; what belongs to the block holds what the last one wrote.
TEST(LoopVerifyThreads, WhatThreadsWroteForThemselvesIsReadInAnotherLoop) {
  const auto written_and_read = [](const std::string& buffer) {
    return complaint(with("  phase grid(r)\n    loop t\n      v0 = load b0[t]\n      " + buffer +
                          "[0] = v0\n    loop t\n      v1 = load " + buffer + "[0]\n"));
  };
  EXPECT_EQ(written_and_read("b3"), "no complaint");
  const std::string said = written_and_read("b2");
  EXPECT_NE(said.find("the buffer is read before it is written\n  at v1 = load b2[0]"), std::string::npos) << said;
}

}  // namespace
}  // namespace tenon::loop_verify_threads_test
