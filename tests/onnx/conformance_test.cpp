// The official tests: how many must pass, and that nothing is ever wrong.
#include "onnx/conformance.h"

#include <gtest/gtest.h>

#include <set>
#include <sstream>

namespace tenon::conformance_test {
namespace {

Conformance run(Way way) {
  ConformanceOptions options;
  options.ways = {way};
  return run_conformance(options);
}

/// All cases that are `outcome`, one a line.
std::string list(const Conformance& all, Way way, Outcome outcome) {
  std::string text;
  for (size_t i = 0; i < all.cases.size(); ++i) {
    if (all.results.at(way)[i].outcome == outcome) {
      text += all.cases[i] + ": " + all.results.at(way)[i].reason + "\n";
    }
  }
  return text;
}

void expect_at_least(int passed, const Conformance& all, Way way) {
  ASSERT_EQ(all.cases.size(), 1072U);
  EXPECT_GE(all.count(way, Outcome::passed), passed) << list(all, way, Outcome::refused);
  EXPECT_EQ(list(all, way, Outcome::wrong), "");
  EXPECT_EQ(list(all, way, Outcome::crashed), "");
}

TEST(OnnxConformance, Interpreted) { expect_at_least(1015, run(Way::interpreted), Way::interpreted); }

TEST(OnnxConformance, Exported) { expect_at_least(950, run(Way::exported), Way::exported); }

/// Steps that are not kernels are of these kinds alone.
void expect_few_others(const Conformance& all, Way way) {
  const std::set<std::string> allowed = {"control if",   "control loop",    "library positions",
                                         "library scan", "library scatter", "library sort"};
  for (size_t i = 0; i < all.cases.size(); ++i) {
    std::istringstream labels(all.results.at(way)[i].others);
    for (std::string label; std::getline(labels >> std::ws, label, ',');) {
      EXPECT_TRUE(allowed.contains(label)) << all.cases[i] << ": " << label;
    }
  }
}

TEST(SlowOnnxConformance, Compiled) {
  const Conformance all = run(Way::compiled);
  expect_at_least(1015, all, Way::compiled);
  expect_few_others(all, Way::compiled);
}

TEST(SlowOnnxConformance, NamedAxes) {
  const Conformance all = run(Way::named);
  expect_at_least(1000, all, Way::named);
  expect_few_others(all, Way::named);
}

}  // namespace
}  // namespace tenon::conformance_test
