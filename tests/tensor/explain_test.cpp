// What lazy tensors ran, explained.
#include "tenon/explain.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tenon/ops.h"
#include "tenon/realizations.h"
#include "tenon/tensor.h"

namespace tenon::explain_test {
namespace {

Tensor ramp(int64_t rows) {
  std::vector<double> numbers;
  for (int64_t i = 0; i < rows * 4; ++i) {
    numbers.push_back(0.5 * static_cast<double>(i));
  }
  return tensor(Array::from<double>({rows, 4}, numbers)).to(f32);
}

std::string without_spaces(std::string text) {
  std::erase(text, ' ');
  return text;
}

TEST(Explain, ComputesAndSaysHow) {
  Tensor sum;
  {
    const Place place("head.0");
    sum = (ramp(3) * 2.0 + 1.0).exp().sum();
  }
  clear_realizations();
  const Explanation told = sum.explain();
  EXPECT_EQ(realizations().size(), 1u);
  const std::string text = told.text();
  EXPECT_NE(text.find("explain() at explain_test.cpp:"), std::string::npos) << text;
  EXPECT_NE(text.find("exp"), std::string::npos) << text;
  EXPECT_NE(text.find("from head.0"), std::string::npos) << text;
  const std::string json = without_spaces(told.json());
  EXPECT_NE(json.find("\"reason\":\"explain()\""), std::string::npos) << json;
  EXPECT_NE(json.find("\"microseconds\""), std::string::npos) << "steps were timed: " << json;
  const std::string page = told.html("a step");
  EXPECT_NE(page.find("<h1>a step</h1>"), std::string::npos);
  EXPECT_NE(page.find("head.0"), std::string::npos);
  EXPECT_EQ(sum.dims().size(), 0u);
}

TEST(Explain, OfWhatIsKnownSaysThatNothingRan) {
  const Tensor known = ramp(2);
  known.to_array();
  clear_realizations();
  EXPECT_EQ(known.explain().text(), "nothing ran: all elements are known\n");
  EXPECT_TRUE(realizations().empty());
}

TEST(Explain, SeveralRunsOfAProgramAreOneProgram) {
  clear_realizations();
  const Explaining now;
  for (int i = 0; i < 3; ++i) {
    (ramp(5) * 3.0).exp().to_array();
  }
  const std::string text = explain_realizations().text();
  EXPECT_NE(text.find("program 1 of 1"), std::string::npos) << text;
  EXPECT_EQ(explain_realizations(0).text(), "nothing ran: all elements are known\n");
}

TEST(Explain, AProgramThatIsGoneIsALine) {
  clear_realizations();
  (ramp(7) * 5.0).exp().to_array();
  clear_programs();
  const std::string json = without_spaces(explain_realizations().json());
  EXPECT_NE(json.find("\"program\":null"), std::string::npos) << json;
}

TEST(Explain, OperationsOfBeforeHaveNoLinesAndStepsHaveNoTimes) {
  clear_programs();
  clear_realizations();
  (ramp(9) * 7.0).exp().to_array();
  const std::string json = without_spaces(explain_realizations().json());
  EXPECT_NE(json.find("\"program\":0"), std::string::npos) << json;
  EXPECT_EQ(json.find("\"microseconds\""), std::string::npos) << json;
}

TEST(Explain, AGraphThatWasCompiledElsewhereStandsBeside) {
  const Value x = input("x", shape(f32, "n"));
  const Graph graph("square", {x}, {{"y", x * x}});
  const Explanation told =
      explain_realizations(0).with_graph(graph, "exported program", "Square", {Array::full(f32, {5}, 2)});
  const std::string json = without_spaces(told.json());
  EXPECT_NE(json.find("\"reason\":\"exportedprogram\",\"place\":\"Square\""), std::string::npos) << json;
  EXPECT_NE(json.find("\"bindings\":\"n=5\""), std::string::npos) << json;
}

}  // namespace
}  // namespace tenon::explain_test
