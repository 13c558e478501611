// The official tests: how many must pass, and that nothing is ever wrong.
#include "onnx/conformance.h"

#include <gtest/gtest.h>

namespace tenon {
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

TEST(OnnxConformance, Interpreted) { expect_at_least(1000, run(Way::interpreted), Way::interpreted); }

TEST(OnnxConformance, Exported) { expect_at_least(950, run(Way::exported), Way::exported); }

TEST(SlowOnnxConformance, Compiled) { expect_at_least(1000, run(Way::compiled), Way::compiled); }

TEST(SlowOnnxConformance, NamedAxes) { expect_at_least(990, run(Way::named), Way::named); }

}  // namespace
}  // namespace tenon
