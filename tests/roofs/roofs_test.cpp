#include "roofs/roofs.h"

#include <gtest/gtest.h>

#include <cmath>

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
  EXPECT_FALSE(parse_roofs("tenon roofs 2\n"));
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

}  // namespace
}  // namespace tenon::roofs::roofs_test
