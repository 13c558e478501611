// Every case of tests/errors/*.graph fails with its message, and what the text itself gets wrong is shown in place.
#include <gtest/gtest.h>

#include "support/error_text.h"
#include "support/graph_file.h"
#include "tenon/text.h"

namespace tenon::errors_test {
namespace {

/// Whether `part` occurs in `message`.
testing::AssertionResult says(const std::string& message, const std::string& part) {
  if (message.find(part) != std::string::npos) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "does not say " << part << ":\n" << message;
}

class ErrorFiles : public testing::TestWithParam<std::string> {};

TEST_P(ErrorFiles, EachCaseFailsWithItsMessage) {
  const std::vector<GraphCase> cases = load_graph_cases(GetParam());
  EXPECT_FALSE(cases.empty());
  for (const GraphCase& each : cases) {
    EXPECT_FALSE(each.error.empty()) << each.name << " expects no error";
    EXPECT_TRUE(says(each.failure, each.error)) << each.name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, ErrorFiles, testing::ValuesIn(graph_files("tests/errors")), [](const auto& file) {
  const size_t slash = file.param.rfind('/');
  return file.param.substr(slash + 1, file.param.rfind('.') - slash - 1);
});

std::string message(std::string_view text) {
  return error_text([&] { parse_graphs(text); });
}

/// The message for one statement of a graph of two inputs.
std::string statement_message(const std::string& statement) {
  return message("graph main(x: f32[batch, 4], y: f32[4]) {\n  " + statement + "\n  return z\n}\n");
}

TEST(TextErrors, ShowLineColumnAndPlace) {
  EXPECT_EQ(statement_message("z = foo(x)"),
            "2:7: there is no operation called `foo`\n"
            "    z = foo(x)\n"
            "        ^");
}

TEST(TextErrors, OfBuildingShowOperandsToo) {
  EXPECT_EQ(statement_message("z = matmul(x, reshape(y, [2, 2]))"),
            "2:7: contract: axis 1 of `x` is 4, axis 0 of the result of reshape is 2\n"
            "    z = matmul(x, reshape(y, [2, 2]))\n"
            "        ^\n"
            "  `x`: f32[batch, 4]\n"
            "  rhs: f32[2, 2]");
}

TEST(TextErrors, PointAtTheInnermostOperation) {
  EXPECT_TRUE(says(statement_message("z = exp(reshape(y, [3]))"), "2:11: reshape: f32[4] has 4 elements"));
}

TEST(TextErrors, SuggestTheNearestName) {
  EXPECT_TRUE(says(statement_message("z = transpos(x)"), "did you mean `transpose`?"));
  EXPECT_TRUE(says(statement_message("z = transpose(x, axis=[1, 0])"),
                   "transpose has no argument called `axis`; did you mean `axes`?"));
  EXPECT_TRUE(says(message("graph f(weight: f32[2]) {\n return y=exp(wieght)\n}"),
                   "there is no value called `wieght`; did you mean `weight`?"));
  EXPECT_TRUE(
      says(message("graph softmax(x: f32[2]) {\n return x\n}\ngraph g(x: f32[2]) {\n return y=call(x, body=sofmax)\n}"),
           "no graph called `sofmax` stands before this; did you mean `softmax`?"));
}

TEST(TextErrors, OfStatements) {
  EXPECT_TRUE(says(statement_message("z: f32[batch] = exp(x)"), "2:6: `z` is f32[batch, 4], not f32[batch]"));
  EXPECT_TRUE(says(statement_message("z, w = exp(x)"), "gives 1 value for 2 names"));
  EXPECT_TRUE(says(statement_message("z = barrier(x, y)"), "gives 2 values for 1 name"));
  EXPECT_TRUE(says(statement_message("z = exp(barrier(x, y))"), "2 values stand where one is needed"));
  EXPECT_TRUE(says(statement_message("x = exp(y)"), "`x` is defined twice"));
  EXPECT_TRUE(says(statement_message("z = exp(%3)"), "`%3` is not defined"));
  EXPECT_TRUE(says(statement_message("z = exp(x) exp(y)"), "expected the end of the statement, found `exp`"));
  EXPECT_TRUE(says(statement_message("z = exp(x,)"), "expected an argument, found `)`"));
  EXPECT_TRUE(says(statement_message("z = exp(x]"), "2:12: `]` cannot close `(`"));
  EXPECT_TRUE(says(statement_message("z = exp"), "there is no value called `exp`"));
  EXPECT_TRUE(says(statement_message("z = input(x)"), "inputs are listed after the name of the graph"));
  EXPECT_TRUE(says(statement_message("z = call(x)"), "call needs `body`"));
  EXPECT_TRUE(says(statement_message("z = exp(x) @here"), "expected a place in quotes, found `here`"));
  EXPECT_TRUE(says(statement_message("z = exp(x)\n  where batch"), "`batch` is no constraint"));
  EXPECT_TRUE(says(statement_message("return z=x"), "it has returned"));
}

TEST(TextErrors, OfArguments) {
  EXPECT_TRUE(says(statement_message("z = transpose(x, [1, 0], axes=[0, 1])"), "`axes` is given twice"));
  EXPECT_TRUE(
      says(statement_message("z = transpose(axes=[1, 0], x)"), "an argument without a name stands after a named one"));
  EXPECT_TRUE(says(statement_message("z = matmul(x, y, y)"), "matmul takes no further argument"));
  EXPECT_TRUE(says(statement_message("z = matmul(x, 2)"), "expected a value, found `2`"));
  EXPECT_TRUE(says(statement_message("z = reduce(x, op=mean, axes=[0])"), "`mean` is none of sum, product, max"));
  EXPECT_TRUE(says(statement_message("z = reduce_sum(x, [1.5])"), "`1.5` is not an integer"));
  EXPECT_TRUE(says(statement_message("z = reduce_sum(x, [99999999999])"), "99999999999 does not fit 32 bits"));
  EXPECT_TRUE(says(statement_message("z = reduce_sum(x, [1], keep=yes)"), "expected true or false, found `yes`"));
  EXPECT_TRUE(says(statement_message("z = update(x, y, path=[pad()])"), "cannot write through pad"));
  EXPECT_TRUE(says(statement_message("z = update(x, y, path=[exp()])"), "`exp` is not a view"));
}

TEST(TextErrors, OfConstants) {
  EXPECT_TRUE(says(statement_message("z = constant(f32[2] {1})"), "1 element is given for f32[2]"));
  EXPECT_TRUE(says(statement_message("z = constant(f32[99999999999, 99999999999] {1})"),
                   "1 element is given for f32[99999999999, 99999999999]"));
  EXPECT_TRUE(says(statement_message("z = constant(u8[2] {1, 256})"), "2:26: `256` is not an element of u8"));
  EXPECT_TRUE(says(statement_message("z = constant(f32[batch] {1})"), "`batch`"));
  EXPECT_TRUE(says(statement_message("z = constant(f32[9] {...})"),
                   "the elements of this constant were left out when it was printed"));
}

TEST(TextErrors, OfGraphs) {
  EXPECT_TRUE(says(message("graph f(x: f32[2]) {\n}"), "expected `return`, found `}`"));
  EXPECT_TRUE(says(message("graph f() {\n return\n}\ngraph f() {\n return\n}"), "two graphs are called `f`"));
  EXPECT_TRUE(says(message("graph f(x: f32[2], x: f32[2]) {\n return\n}"), "`x` is defined twice"));
  EXPECT_TRUE(says(message("graph f(x: f32[2]) {\n return y=exp(x) aliases z\n}"), "no value called `z`"));
  EXPECT_TRUE(says(message("graph f(x: f32[n]) {\n where n >= 4\n where n <= 3\n return x\n}"), "1:7: "));
  EXPECT_TRUE(says(message("function f() {\n}"), "expected `graph`, found `function`"));
  EXPECT_TRUE(says(message("graph f(x: f32[2]) {\n z = exp(x)\n"), "`{` is never closed"));
  EXPECT_TRUE(says(message("graph f(`x: f32[2]) {}"), "a name in backticks has no end"));
  EXPECT_TRUE(says(message("graph f(x: f32[\xC3\xA9]) {}"), "belongs into backticks"));
  EXPECT_THROW(parse_graph("# nothing\n"), Error);
}

TEST(TextErrors, ExpressionsNestToALimit) {
  constexpr int kDepth = 100'000;
  std::string nested;
  for (int i = 0; i < kDepth; ++i) {
    nested += "exp(";
  }
  EXPECT_TRUE(says(statement_message("z = " + nested + "x" + std::string(kDepth, ')')),
                   "more than 100 operations inside each other"));
}

}  // namespace
}  // namespace tenon::errors_test
