// Constants that are looked up and multiplied by are in memory once, in panels.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/lowered.h"
#include "support/arrays.h"
#include "support/equivalence.h"
#include "support/error_text.h"
#include "support/small_graph.h"
#include "tenon/tenon.h"

namespace tenon::shared_panels_test {
namespace {

CompileOptions options_of(bool native) { return {.native = native, .least_shared_work = 0}; }

/// Constants of two axes that a program keeps.
size_t matrices(const Graph& graph, const CompileOptions& options) {
  CompileReport report;
  const compiler::Lowered lowered = compiler::lower(graph, options, report);
  size_t count = 0;
  for (const compiler::LoweredSegment& segment : lowered.segments) {
    count += static_cast<size_t>(
        std::ranges::count_if(segment.program.constants, [](const Array& each) { return each.rank() == 2; }));
  }
  return count;
}

constexpr std::string_view kTied =
    "x = take(w, i); y = contract(tanh(sub(x, reduce_max(x, axes=[1], keep=true))), w, lhs_contract=[1], "
    "rhs_contract=[1])";

Graph tied(int64_t words, int64_t width) {
  return make(SmallGraph{"tied", fmt::format("i: i64[m], w: f32[{}, {}]", words, width), std::string(kTied)});
}

TEST(SharedPanels, AreReadByLookups) {
  for (const bool native : {true, false}) {
    for (const auto& [words, width] : {std::pair(70, 24), std::pair(64, 33), std::pair(1000, 48), std::pair(33, 130)}) {
      const Graph graph = tied(words, width);
      if (native) {
        EXPECT_EQ(matrices(graph, options_of(native)), 1U) << words << " x " << width;
      }
      const Executable compiled = compile(graph, options_of(native));
      for (const int64_t m : {0, 1, 2, 17, 40}) {
        Array positions(i64, {m});
        for (int64_t i = 0; i < m; ++i) {  // from both ends
          positions.mutable_values<int64_t>()[static_cast<size_t>(i)] = i * 37 % (2 * words) - words;
        }
        const Array expected = interpret(graph, {positions})[0];
        EXPECT_TRUE(close(compiled.run({positions})[0], expected, 1e-5, 1e-5)) << words << ", " << m;
      }
    }
  }
}

TEST(SharedPanels, KnowHowManyWordsThereAre) {
  const Graph graph = tied(70, 24);
  for (const bool native : {true, false}) {
    const Executable compiled = compile(graph, options_of(native));
    for (const int64_t word : {int64_t{70}, int64_t{79}, int64_t{-71}, int64_t{1} << 40, -(int64_t{1} << 40)}) {
      const std::string said = error_text([&] { (void)compiled.run({Array::from<int64_t>({2}, {0, word})}); });
      EXPECT_NE(said.find(fmt::format("position {} is out of range for axis 0 of size 70", word)), std::string::npos)
          << said;
    }
  }
}

/// What else reads them finds them row by row.
TEST(SharedPanels, AreForLookupsOfWholeColumnsAlone) {
  const SmallGraph others[] = {
      {"rows", "x: f32[m, 24], w: f32[70, 24]", "y = contract(x, w, lhs_contract=[1], rhs_contract=[1]); y1 = exp(w)"},
      {"along_the_other_axis", "x: f32[m, 24], i: i64[m], w: f32[70, 24]",
       "y = contract(x, w, lhs_contract=[1], rhs_contract=[1]); y1 = take(w, i, axis=1)"},
      {"left_side", "x: f32[m, 24], z: f32[24, m], w: f32[70, 24]",
       "y = contract(x, w, lhs_contract=[1], rhs_contract=[1]); y1 = matmul(w, z)"},
      {"a_part", "x: f32[m, 24], i: i64[m], w: f32[70, 24]",
       "y = contract(x, w, lhs_contract=[1], rhs_contract=[1]); y1 = take(slice(w, [3, 2], [64, 20]), i)"},
      {"untransposed", "x: f32[m, 70], i: i64[m], w: f32[70, 24]", "y = matmul(x, w); y1 = take(w, i)"},
      {"both_ways", "x: f32[m, 24], z: f32[m, 70], i: i64[m], w: f32[70, 24]",
       "y = contract(x, w, lhs_contract=[1], rhs_contract=[1]); y1 = take(w, i); y2 = matmul(z, w)"},
  };
  for (const SmallGraph& each : others) {
    const Graph graph = make(each);
    for (const bool native : {true, false}) {
      const Executable compiled = compile(graph, options_of(native));
      for (const int64_t size : {1, 20}) {
        const Bindings at{{"m", size}};
        const auto inputs = random_inputs(graph, at, 1);
        const std::vector<Array> expected = interpret(graph, inputs, {.bindings = at});
        const std::vector<Array> found = compiled.run(inputs, {.bindings = at});
        for (size_t i = 0; i < expected.size(); ++i) {
          EXPECT_TRUE(close(found[i], expected[i], 1e-5, 1e-5)) << each.name << ", output " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tenon::shared_panels_test
