// Which maxima look for NaN: those whose result would show it, and nothing else does.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "compiler/pipeline.h"
#include "schedule/schedule.h"
#include "support/compiled.h"
#include "support/equivalence.h"
#include "support/small_graph.h"

namespace tenon::schedule::skipped_nan_test {
namespace {

struct Case {
  SmallGraph graph;
  bool skips = false;  // every maximum and minimum
};

std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.graph.name; }

class SkippedNan : public testing::TestWithParam<Case> {};

TEST_P(SkippedNan, WhereASumShowsIt) {
  std::vector<PassRun> runs;
  const Program program = make_program(compiler::optimize(make(GetParam().graph), {}, runs));
  int extremes = 0;
  for (const loops::Kernel& kernel : program.kernels) {
    for (const loops::Accumulator& accumulator : kernel.accumulators) {
      if (accumulator.op != ReduceOp::max && accumulator.op != ReduceOp::min) {
        continue;
      }
      ++extremes;
      EXPECT_EQ(accumulator.may_skip_nan, GetParam().skips) << to_string(kernel);
    }
  }
  EXPECT_GT(extremes, 0);
}

/// Random numbers, and of twelve rows nine with NaN and infinities.
std::vector<Array> with_specials(const Graph& graph, const Bindings& bindings) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<Array> inputs = random_inputs(graph, bindings, 7);
  const int64_t columns = inputs[0].dims()[1];
  const std::span<float> values = inputs[0].mutable_values<float>();
  const auto at = [&](int64_t row, int64_t column) -> float& {
    return values[static_cast<size_t>(row * columns + column)];
  };
  at(0, 0) = kNan;
  at(1, columns - 1) = kNan;
  at(2, columns / 2) = -kNan;
  at(3, 0) = kInfinity;
  at(4, columns / 2) = -kInfinity;
  for (int64_t i = 0; i < columns; ++i) {
    at(5, i) = -kInfinity;
    at(6, i) = kNan;
    at(7, i) = i % 2 == 0 ? kNan : kInfinity;
    at(8, i) = i % 3 == 0 ? kNan : -kInfinity;
  }
  return inputs;
}

TEST_P(SkippedNan, GivesWhatTheInterpreterGives) {
  const Graph graph = make(GetParam().graph);
  CompiledCheck check{.inputs = with_specials};
  for (const int64_t columns : {1, 2, 15, 16, 17, 64, 67, 5000}) {
    check.at.emplace_back();
    check.at.back().set("row", 12);
    check.at.back().set("col", columns);
  }
  EXPECT_TRUE(matches_every_way(graph, check));
  check.compile.most_row_bytes = 0;  // the forms for long rows
  EXPECT_TRUE(compiled_matches(graph, check));
}

INSTANTIATE_TEST_SUITE_P(
    All, SkippedNan,
    testing::Values(
        Case{{"softmax", "x: f32[row, col]", "y = softmax(x)"}, true},
        Case{{"log_softmax", "x: f32[row, col]", "y = log_softmax(x)"}, true},
        Case{{"logsumexp", "x: f32[row, col]", "y = logsumexp(x, axes=[1])"}, true},
        Case{{"softmax_of_columns", "x: f32[row, col]", "y = softmax(x, axis=0)"}, true},
        Case{{"least_of_powers", "x: f32[row, col]",
              "d = sub(x, reduce_min(x, axes=[1], keep=true)); y = div(d, reduce_sum(d, axes=[1], keep=true))"},
             true},
        // The maximum itself is seen, alone or beside.
        Case{{"maximum", "x: f32[row, col]", "y = reduce_max(x, axes=[1])"}, false},
        Case{{"maximum_and_softmax", "x: f32[row, col]", "y = softmax(x); y1 = reduce_max(x, axes=[1])"}, false},
        // A NaN of another element is seen through the maximum alone.
        Case{{"less_its_maximum", "x: f32[row, col]", "y = exp(sub(x, reduce_max(x, axes=[1], keep=true)))"}, false},
        // The sum is of other rows, or loses NaN on its way.
        Case{{"sum_of_columns", "x: f32[row, col]",
              "d = sub(x, reduce_max(x, axes=[1], keep=true)); y = reduce_sum(exp(d), axes=[0])"},
             false},
        Case{{"nan_lost", "x: f32[row, col]",
              "d = sub(x, reduce_max(x, axes=[1], keep=true)); s = reduce_sum(exp(d), axes=[1], keep=true); "
              "y = mul(d, select(lt(s, 4.0), s, 4.0))"},
             false}),
    [](const auto& each) { return each.param.graph.name; });

}  // namespace
}  // namespace tenon::schedule::skipped_nan_test
