// The loop of a kernel's assembly that computes most.
#include "report/hot_loop.h"

#include <gtest/gtest.h>

#include <string>

namespace tenon::report::hot_loop_test {
namespace {

TEST(HotLoop, OfCodeWithoutLoopsIsNone) {
  EXPECT_FALSE(hot_loop(""));
  EXPECT_FALSE(hot_loop("k:\n\tvaddps\tzmm0, zmm1, zmm2\n\tje\t.LBB0_2\n.LBB0_2:\n\tret\n")) << "a jump forward";
}

TEST(HotLoop, IsTheInnermostOfTwo) {
  const std::string nest =
      "k:\n"                                // 0
      ".LBB0_1:                # outer\n"   // 1
      "\tmov\trax, rcx\n"                   // 2
      ".LBB0_2:                # inner\n"   // 3
      "\tvfmadd231ps\tzmm0, zmm1, [rdi]\n"  // 4
      "\tjne\t.LBB0_2\n"                    // 5
      "\tjb\t.LBB0_1\n"                     // 6
      "\tret\n";
  EXPECT_EQ(hot_loop(nest), (LineRange{.first = 3, .last = 5}));
}

TEST(HotLoop, IsTheVectorLoopAndNotItsRest) {
  const std::string two =
      ".LBB0_1:\n\tvmulps\tzmm0, zmm1, zmm2\n\tvmulps\tzmm3, zmm4, zmm5\n\tjne\t.LBB0_1\n"  // 0 to 3
      ".LBB0_2:\n\tmulss\txmm0, xmm1\n\tjne\t.LBB0_2\n\tret\n";
  EXPECT_EQ(hot_loop(two), (LineRange{.first = 0, .last = 3}));
}

TEST(HotLoop, IsFoundInCodeForArmAndForGpus) {
  EXPECT_EQ(hot_loop("k:\n.LBB0_1:\n\tfmla\tv0.4s, v1.4s, v2.4s\n\tb.ne\t.LBB0_1\n\tret\n"),
            (LineRange{.first = 1, .last = 3}));
  EXPECT_EQ(hot_loop("k:\n.LBB0_1:\n\tsubs\tx8, x8, #1\n\tcbnz\tx8, .LBB0_1\n"), (LineRange{.first = 1, .last = 3}));
  EXPECT_EQ(hot_loop("$L__BB0_1:\n\tfma.rn.f32 \t%f1, %f2, %f3, %f1;\n\t@%p1 bra \t$L__BB0_1;\n"),
            (LineRange{.first = 0, .last = 2}));
}

}  // namespace
}  // namespace tenon::report::hot_loop_test
