// The files that describe graphs for other tests.
#include "support/graph_file.h"

#include <gtest/gtest.h>

#include "support/error_text.h"
#include "tenon/ops.h"

namespace tenon::graph_file_test {
namespace {

TEST(GraphFile, HoldsCases) {
  const std::vector<GraphCase> cases = load_graph_cases("tests/text/graph_file.cases");
  ASSERT_EQ(cases.size(), 4U);

  const Value x = input("x", shape(f32, "row", "col"));
  EXPECT_EQ(cases[0].name, "tests/text/graph_file.cases:3");
  EXPECT_EQ(cases[0].graph, Graph({x}, {{"z", exp(transpose(x))}}));
  EXPECT_EQ(cases[0].expected, Graph({x}, {{"z", transpose(exp(x))}}));
  EXPECT_EQ(cases[0].failure, "");

  // Names that `out` alone defines are steps; outputs are in its order.
  EXPECT_EQ(cases[1].graph, Graph({x}, {{"b", x * 2}, {"a", x + x}}));
  EXPECT_EQ(cases[1].expected, Graph({x}, {{"b", x + x}, {"a", x + x}}));

  EXPECT_EQ(cases[2].error, "axis `row` against axis `col`");
  EXPECT_EQ(cases[2].failure.substr(0, 7), "18:12: ") << cases[2].failure;

  EXPECT_EQ(cases[3].graph.outputs()[0].name, "z");
  EXPECT_FALSE(cases[3].expected);
}

TEST(GraphFile, MissingFileIsAnError) {
  EXPECT_EQ(error_text([] { load_graph_cases("tests/nothing.graph"); }), "tests/nothing.graph cannot be read");
}

}  // namespace
}  // namespace tenon::graph_file_test
