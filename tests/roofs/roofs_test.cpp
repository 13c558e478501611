#include "roofs/roofs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "roofs/loops.h"

namespace tenon::roofs::roofs_test {
namespace {

Roofs two_and_four() {
  return {.levels = {{"first cache", 1000}, {"last cache", 5000, true}, {"memory", 0, true}},
          .rates = {{1, {8, 4, 8, 16}, {100, 50, 10}}, {4, {32, 16, 32, 64}, {400, 80, 16}}}};
}

TEST(Roofs, RatesBetweenThreadsThatWereMeasured) {
  const Roofs roofs = two_and_four();
  EXPECT_EQ(roofs.operations(Unit::f32, 1), 8);
  EXPECT_EQ(roofs.operations(Unit::i8, 4), 64);
  EXPECT_EQ(roofs.operations(Unit::f64, 2), 8);
  EXPECT_EQ(roofs.bandwidth(1, 3), 70);
  EXPECT_EQ(roofs.bandwidth(2, 99), 16);  // no more than all cores
}

TEST(Roofs, SharedCachesHoldNoMoreForMoreThreads) {
  const Roofs roofs = two_and_four();
  EXPECT_EQ(roofs.capacity(0, 4), 4000);
  EXPECT_EQ(roofs.capacity(1, 4), 9000);
  EXPECT_TRUE(std::isinf(roofs.capacity(2, 4)));
}

TEST(Roofs, TextAndBack) {
  const Roofs roofs = two_and_four();
  const auto read = parse_roofs(to_text(roofs));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, roofs);
}

TEST(Roofs, TextThatIsNone) {
  const std::string good = to_text(two_and_four());
  for (size_t length = 0; length < good.size() - 1; ++length) {
    const auto read = parse_roofs(std::string_view(good).substr(0, length));
    EXPECT_TRUE(!read || *read != two_and_four()) << length;
  }
  EXPECT_FALSE(parse_roofs(""));
  EXPECT_FALSE(parse_roofs("tenon roofs 1\n"));
  EXPECT_FALSE(parse_roofs(good + "threads 2 1 1 1 1 1 1 1\n"));    // fewer threads than before
  EXPECT_FALSE(parse_roofs(good + "threads 8 1 1 1 1 1 1 -1\n"));   // no rate
  EXPECT_FALSE(parse_roofs(good + "threads 8 1 1 1 1 1 1 1 1\n"));  // one too many
}

TEST(Roofs, TheHigherOfTwoMeasurements) {
  Roofs roofs = two_and_four();
  Roofs other = roofs;
  other.rates[0].operations[0] = 9;
  other.rates[1].bytes[2] = 12;
  roofs.raise_to(other);
  EXPECT_EQ(roofs.operations(Unit::f32, 1), 9);
  EXPECT_EQ(roofs.bandwidth(2, 4), 16);
  other.levels.pop_back();
  EXPECT_NO_THROW(roofs.raise_to(other));  // of another machine: nothing
}

TEST(Roofs, ThisMachine) {
  CpuMachine machine = this_machine().cpu();
  machine.cores = 1;  // nothing here depends on how many there are, or on what is shared
  machine.last_cache = 4 * machine.second_cache;
  const Roofs roofs = measure_roofs(machine);
  ASSERT_EQ(roofs.rates.size(), 1);
  EXPECT_EQ(roofs.levels, levels_of(machine));
  for (const double each : roofs.rates[0].operations) {
    EXPECT_GT(each, 0);
  }
  for (size_t i = 0; i + 1 < roofs.levels.size(); ++i) {
    EXPECT_GE(roofs.rates[0].bytes[i], roofs.rates[0].bytes[i + 1]) << i;
  }
  EXPECT_TRUE(parse_roofs(to_text(roofs)));
}

#if defined(__x86_64__)

#define TENON_OWN_16(one) \
  one(0) one(1) one(2) one(3) one(4) one(5) one(6) one(7) one(8) one(9) one(10) one(11) one(12) one(13) one(14) one(15)
#define TENON_OWN_FMA(n) "vfmadd231ps %%zmm30, %%zmm31, %%zmm" #n "\n"

/// Sixteen multiply-adds of 16 floats in each step, as they stand here.
void own_loop(int64_t steps) {
  __asm__ volatile("vpxorq %%zmm30, %%zmm30, %%zmm30\n vpxorq %%zmm31, %%zmm31, %%zmm31\n 1:\n" TENON_OWN_16(
                       TENON_OWN_FMA) "dec %0\n jnz 1b\n vzeroupper\n"
                   : "+r"(steps)
                   :
                   : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
                     "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
}

/// Operations a second of the time that this thread had a processor.
double rate_of(double operations, const auto& run) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  const double begin = now();
  run();
  return operations / (now() - begin);
}

TEST(Measured, ArithmeticIsWhatInstructionsGive) {
  const CpuMachine& machine = this_machine().cpu();
  if (machine.instructions != InstructionSet::x86_64_v4) {
    GTEST_SKIP() << "the loop to compare with is of vectors of 512 bits";
  }
  const ArithmeticLoop loop = arithmetic_loops(Unit::f32, machine).front();
  constexpr int64_t kSteps = 20'000;
  double own = 0;
  double measured = 0;
  for (int round = 0; round < 40; ++round) {  // in turn: in some, nobody else uses the core
    own = std::max(own, rate_of(16.0 * 32 * kSteps, [] { own_loop(kSteps); }));
    measured = std::max(measured, rate_of(loop.operations * kSteps, [&] { loop.run(kSteps); }));
  }
  EXPECT_GT(measured, 0.7 * own);
  EXPECT_LT(measured, 1.4 * own);
}

#endif

}  // namespace
}  // namespace tenon::roofs::roofs_test
