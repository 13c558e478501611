// Verdicts over times that are made up: what they must say of programs that differ, of those that do not, and of times
// that a busy machine took.
#include "report/rounds.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon::report::rounds_test {
namespace {

constexpr int kRounds = 8;

/// What a process measures: `scatter` of its rounds and `process` of all of them together are logarithms, as times of
/// busy machines are.
struct Process {
  double time = 100;
  double machine = 1;  // how many times longer the reference takes
  double scatter = 0.005;
  double process = 0;
};

Rounds measured(const Process& of, std::mt19937& random) {
  std::normal_distribution<double> normal;
  Rounds rounds;
  const double own = of.time * std::exp(of.process * normal(random));
  for (int i = 0; i < kRounds; ++i) {
    rounds.medians.push_back(own * of.machine * std::exp(of.scatter * normal(random)));
    rounds.references.push_back(1000 * of.machine * std::exp(of.scatter * normal(random)));
  }
  return rounds;
}

/// How often each word was said of a hundred pairs of processes.
std::map<std::string_view, int> words(const Process& now, const Process& before) {
  std::mt19937 random(7);
  std::map<std::string_view, int> counts;
  for (int i = 0; i < 100; ++i) {
    const Rounds a = measured(now, random);
    ++counts[compare_apart(a, measured(before, random)).word()];
  }
  return counts;
}

TEST(Rounds, AQuietMachineTellsAFewPercent) {
  EXPECT_EQ(words({}, {})["same"], 100);
  EXPECT_GE(words({.time = 110}, {})["slower"], 95);
  EXPECT_GE(words({.time = 90}, {})["faster"], 95);
  EXPECT_EQ(words({.time = 102}, {})["slower"], 0) << "two processes differ by as much";
}

TEST(Rounds, ABusyMachineTellsNothingFalse) {
  const Process busy{.scatter = 0.12, .process = 0.12};
  auto counts = words(busy, busy);
  EXPECT_LE(counts["faster"] + counts["slower"], 5);
  EXPECT_GE(counts["too noisy to tell"], 80);
  counts = words({.scatter = 0.12, .process = 0.12}, {});
  EXPECT_LE(counts["faster"] + counts["slower"], 5) << "the file is of a quiet machine";
  counts = words({}, {.scatter = 0.12, .process = 0.12});
  EXPECT_LE(counts["faster"] + counts["slower"], 5) << "the file is of a busy one";
}

TEST(Rounds, ASlowerMachineIsNotASlowerProgram) {
  const auto counts = words({.machine = 1.4}, {});
  EXPECT_EQ(counts.count("slower"), 0U);
  EXPECT_GE(counts.at("too noisy to tell"), 95);
  EXPECT_GE(words({.time = 300, .machine = 1.4}, {})["slower"], 95) << "more than the machine explains";
}

/// What a busy machine gives beside rounds: loops of 1.3 ms, of which most are interrupted once, for as long as another
/// process has its turn.
std::vector<double> interrupted_loops() { return {1401, 9312, 5315, 1318, 1344, 3964, 7338, 4391}; }

Rounds rounds_of(std::vector<double> medians, std::vector<double> references) {
  Rounds rounds;
  rounds.medians = std::move(medians);
  rounds.references = std::move(references);
  return rounds;
}

std::vector<double> eight_of(double time) { return std::vector<double>(8, time); }

TEST(Rounds, InterruptedLoopsSayNothingOfShorterRuns) {
  const Rounds before = rounds_of({326.4, 119.1, 114.8, 115.3, 114.9, 114.8, 114.9, 118.6}, interrupted_loops());
  const Rounds now =
      rounds_of({46.1, 46.4, 45.2, 46.0, 47.1, 46.6, 45.9, 46.3}, {1316, 1344, 1340, 8200, 1330, 1350, 1322, 1400});
  EXPECT_EQ(compare_apart(now, before).word(), "faster");
  EXPECT_EQ(compare_apart(before, now).word(), "slower");
  EXPECT_LT(compare_apart(now, before).noise, 0.2);
}

TEST(Rounds, InterruptedLoopsSayThatLongerRunsAreInterruptedToo) {
  const Rounds before = rounds_of(eight_of(10'000), eight_of(1320));
  EXPECT_EQ(compare_apart(rounds_of(eight_of(20'000), interrupted_loops()), before).word(), "too noisy to tell");
}

TEST(Rounds, TheSameIsNotSaidWhereNoiseCouldHideADifference) {
  const Rounds before = rounds_of(eight_of(100), eight_of(1000));
  EXPECT_EQ(compare_apart(before, before).word(), "same");
  EXPECT_EQ(compare_apart(rounds_of(eight_of(100), eight_of(11'000)), before).word(), "too noisy to tell");
}

TEST(Rounds, TakenInTurnWhatDisturbsBothDropsOut) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  Rounds now;
  Rounds before;
  Rounds apart;
  for (int i = 0; i < kRounds; ++i) {
    const double load = std::exp(0.5 * normal(random));
    now.medians.push_back(110 * load * std::exp(0.005 * normal(random)));
    before.medians.push_back(100 * load * std::exp(0.005 * normal(random)));
    apart.medians.push_back(100 * std::exp(0.5 * normal(random)));
  }
  EXPECT_EQ(compare_in_turn(now, before).word(), "slower");
  EXPECT_EQ(compare_in_turn(before, now).word(), "faster");
  EXPECT_EQ(compare_in_turn(before, before).word(), "same");
  EXPECT_EQ(compare_in_turn(now, apart).word(), "too noisy to tell");
}

TEST(Rounds, AFileKeepsThemAndOlderOnesHaveNoReferences) {
  std::mt19937 random(1);
  const Rounds rounds = measured({}, random);
  Rounds without;
  without.medians = rounds.medians;
  EXPECT_EQ(compare_apart(rounds, without).word(), "same");
  EXPECT_GT(reference_microseconds(), 10);
}

}  // namespace
}  // namespace tenon::report::rounds_test
