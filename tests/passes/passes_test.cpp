// Every tests/passes/<pass>.graph: the pass gives what is expected, and it computes the same.
#include <fmt/format.h>

#include <filesystem>

#include "passes/table.h"
#include "support/equivalence.h"
#include "support/error_text.h"
#include "support/graph_file.h"
#include "tenon/text.h"

namespace tenon::passes::passes_test {
namespace {

class PassFiles : public testing::TestWithParam<std::string> {};

TEST_P(PassFiles, EachCaseBecomesWhatIsExpectedAndComputesTheSame) {
  const Pass& pass = find_pass(std::filesystem::path(GetParam()).stem().string());
  const auto cases = load_graph_cases(GetParam());
  EXPECT_FALSE(cases.empty());
  for (const GraphCase& each : cases) {
    ASSERT_TRUE(each.failure.empty()) << each.name << ": " << each.failure;
    ASSERT_TRUE(each.expected.has_value()) << each.name << " has no `out`";
    const Graph actual = pass.run(each.graph);
    // Inputs may have been rewritten, so what is compared is what the outputs are made of.
    EXPECT_EQ(to_text(actual, {.places = false}), to_text(*each.expected, {.places = false})) << each.name;
    EXPECT_TRUE(equivalent(each.graph, actual)) << each.name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, PassFiles, testing::ValuesIn(graph_files("tests/passes")),
                         [](const auto& test) { return std::filesystem::path(test.param).stem().string(); });

TEST(PassTable, EveryPassHasATextTest) {
  for (const Pass& pass : pass_table()) {
    const std::filesystem::path folder = std::filesystem::path(TENON_SOURCE_DIR) / "tests/passes";
    EXPECT_TRUE(std::filesystem::exists(folder / fmt::format("{}.graph", pass.name))) << pass.name;
    EXPECT_FALSE(pass.doc.empty());
  }
  EXPECT_EQ(error_text([] { find_pass("no_such_pass"); }).find("there is no pass called `no_such_pass`"), 0u);
}

}  // namespace
}  // namespace tenon::passes::passes_test
