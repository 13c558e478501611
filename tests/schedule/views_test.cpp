// Which views are index maps of the kernel that reads them, and which are copies.

#include <gtest/gtest.h>

#include "support/compiled.h"
#include "support/error_text.h"
#include "tenon/convolution.h"
#include "tenon/indexing.h"

namespace tenon::schedule::views_test {
namespace {

Graph graph_of(const std::vector<Value>& inputs, const Value& output) {
  return {inputs, {{.name = "y", .value = output}}};
}

/// Compiles, runs, and gives the number of copies.
int copies(const Graph& graph) {
  EXPECT_TRUE(compiled_matches(graph, {.compile = {.native = false}}));
  return compile(graph, {.native = false}).copy_count();
}

TEST(Views, ReshapesOfComputedValuesFoldOverCommonLoops) {
  const Value x = input("x", shape(f32, "batch", 6, "col"));
  const Value y = exp(x);
  EXPECT_EQ(copies(graph_of({x}, tanh(reshape(y, {"batch", 2, 3, "col"})))), 0) << "split";
  EXPECT_EQ(copies(graph_of({x}, tanh(reshape(y, {Extent::name("batch") * 6, "col"})))), 0) << "merged";
  EXPECT_EQ(copies(graph_of({x}, tanh(reshape(y, {Extent::name("batch") * 2, Extent::name("col") * 3})))), 0) << "both";
  EXPECT_EQ(copies(graph_of({x}, transpose(reshape(y, {"batch", 3, 2, "col"}), {0, 2, 1, 3}) * 2)), 0);
}

TEST(Views, ReshapesOfWhatIsInMemoryFoldWhateverTheAxes) {
  const Value x = input("x", shape(f32, "batch", 4, "col"));
  EXPECT_EQ(copies(graph_of({x}, exp(reshape(x, {"col", "batch", 4})))), 0) << "axes of other sizes";
  const Value part = slice_axis(reshape(x, {"col", "batch", 4}), 0, 0, 1);
  EXPECT_EQ(copies(graph_of({x}, exp(part))), 0) << "read in part";
}

TEST(Views, OtherViewsFold) {
  const Value x = input("x", shape(f32, "row", "col"));
  const Value y = exp(x);
  EXPECT_EQ(copies(graph_of({x}, tanh(transpose(y)))), 0);
  EXPECT_EQ(copies(graph_of({x}, tanh(slice_axis(y, 0, 0, {}, 2)))), 0);
  EXPECT_EQ(copies(graph_of({x}, tanh(flip(y, {1})))), 0);
  EXPECT_EQ(copies(graph_of({x}, tanh(pad(y, {1, 0}, {0, 2})))), 0);
  const Value z = input("z", shape(f32, 3, "row", "col"));
  EXPECT_EQ(copies(graph_of({x, z}, z + broadcast(y, {3, "row", "col"}, {1, 2}))), 0);
}

TEST(Views, AReshapeWithoutCommonLoopsIsACopyWithAReason) {
  const Value x = input("x", shape(f32, "row", "col"));
  const Graph graph = graph_of({x}, tanh(reshape(transpose(exp(x)), {"row", "col"})));
  const Executable executable = compile(graph, {.native = false});
  EXPECT_TRUE(compiled_matches(graph, {.compile = {.native = false}}));
  EXPECT_EQ(executable.steps().size(), 2U) << executable.explain();
  EXPECT_NE(executable.explain().find("has no common refinement"), std::string::npos) << executable.explain();
}

// ---------------------------------------------------------------------------------------------------------------------
// Graphs that once went wrong.

TEST(Views, ASliceOfNothing) {
  const Value x = input("x", shape(f32, "batch", 4, "col"));
  EXPECT_EQ(copies(graph_of({x}, slice_axis(exp(x), 1, 0, 0))), 0);
}

TEST(Views, HalvesBesideComputedHalves) {
  const Value x = input("x", shape(bf16, "batch", "col"));
  const CompiledCheck rounded{.compile = {.native = false}, .relative = 0.01};
  EXPECT_TRUE(compiled_matches(graph_of({x}, concat({x * x, x}, 1)), rounded));
  EXPECT_TRUE(compiled_matches(graph_of({x}, pad(x * x, {0, 1}, {0, 0})), rounded));
}

TEST(Views, AReshapeThatIsNoIndexMapBeforeASlice) {
  const Value x = input("x", shape(f32, "seq", "seq", "batch"));
  const Extent seq = Extent::name("seq");
  const Extent batch = Extent::name("batch");
  const Value wide = broadcast(x, {seq, seq, 2 * batch, batch}, {0, 1, 3});
  const Value part = slice_axis(reshape(wide, {batch * seq, 2, seq, batch}), 1, 1, 2);
  EXPECT_TRUE(compiled_matches(graph_of({x}, part), {.compile = {.native = false}}));
}

TEST(Views, AProductOfAReshapeWithoutCommonLoops) {
  const Value x = input("x", shape(f32, "col", 4, "seq"));
  const Value w = input("w", shape(f32, 2, "seq"));
  const Value wide = reshape(x, {2, 2, Extent::name("col") * Extent::name("seq")});
  const Graph graph = graph_of({x, w}, contract(wide, w, {.lhs_contract = {1}, .rhs_contract = {0}}));
  EXPECT_TRUE(compiled_matches(graph, {.compile = {.native = false}}));
}

TEST(Views, NumbersThatWaitForAHostStep) {
  const Value x = input("x", shape(f32, "col"));
  const Value limit = input("limit", shape(f32, 1));
  const Value total = reduce_sum(cumulative_sum(x), {0}, true);
  EXPECT_TRUE(compiled_matches(graph_of({x, limit}, min(total, limit)), {.compile = {.native = false}}));
}

/// One element of a reshape is one of its operand: positions that no loop moves are divided.
TEST(Views, AnElementOfAReshapeIsNoCopy) {
  const Value x = input("x", shape(f32, "row", "col"));
  const Extent all = Extent::name("row") * Extent::name("col");
  const auto element = [&](const Value& line) { return slice(line, {all - 1}, {1}); };
  const CompiledCheck check{.compile = {.native = false}, .at = {{{"row", 3}, {"col", 4}}, {{"row", 1}, {"col", 5}}}};
  const Value line = reshape(transpose(x), {all});
  const Value twice = reshape(broadcast(x, {"row", "col", 2}, {0, 1}), {2 * all});
  for (const Value& last : {element(line), element(flip(line, {0})), element(twice)}) {
    const Value y = tanh(last);
    for (const Value& output : {y, y * broadcast(last, {7}, {0})}) {
      const Graph graph = graph_of({x}, output);
      EXPECT_TRUE(compiled_matches(graph, check));
      EXPECT_EQ(compile(graph, {.native = false}).steps().size(), 1U);
    }
  }
}

/// Positions that a padding mirrors are computed where they are read, and not divided: the reshape is a copy.
TEST(Views, ANumberBehindAViewThatIsACopy) {
  const Value x = input("x", shape(f32, "row", "col"));
  const Extent all = Extent::name("row") * Extent::name("col");
  const Value line = reshape(transpose(x), {all});
  const Graph graph = graph_of({x}, tanh(slice_axis(pad(line, {2}, {0}, "reflect"), 0, 0, 1)));
  EXPECT_TRUE(compiled_matches(graph, {.compile = {.native = false}, .at = {{{"row", 3}, {"col", 4}}}}));
}

/// What `run` says at a position that is out of range.
std::string error_at(const Value& x, const std::vector<Value>& inputs, const std::vector<Array>& arrays) {
  const Value index = input("index", shape(i64, 2));
  std::vector<Value> all = inputs;
  all.push_back(index);
  std::vector<Array> given = arrays;
  given.push_back(Array::from<int64_t>({2}, {0, 4}));
  const Executable executable = compile(graph_of(all, take(x, index)), {.native = false});
  return error_text([&] { executable.run(given, {.bindings = {{"seq", 3}}}); });
}

TEST(Views, PositionsOutOfRangeAreSeenWhateverIsPicked) {
  const std::string said = "gather: position 4 is out of range for axis 0 of size 3";
  const Value x = input("x", shape(f32, "seq"));
  const Array three = Array::from<float>({3}, {1, 2, 3});
  EXPECT_EQ(error_at(x, {x}, {three}), said);
  EXPECT_EQ(error_at(exp(x), {x}, {three}), said) << "computed";
  EXPECT_EQ(error_at(iota(shape(f32, "seq")), {}, {}), said) << "counted";
  const Value one = input("one", shape(f32));
  EXPECT_EQ(error_at(broadcast(one, {"seq"}, {}), {one}, {Array::scalar(f32, 1)}), said) << "repeated";
}

TEST(Views, PositionsOfNothingAreNotLookedAt) {
  const Value x = input("x", shape(f32, "batch", "col"));
  const Value nowhere = broadcast(scalar(i64, 0), {"batch"}, {});
  EXPECT_TRUE(compiled_matches(graph_of({x}, take(exp(x), nowhere)), {.compile = {.native = false}}));
  const Value index = input("index", shape(i64, "seq"));
  const Graph twice = graph_of({x, index}, take(take(exp(x), nowhere), index, 1));
  EXPECT_TRUE(compiled_matches(twice, {.compile = {.native = false}}));
}

TEST(Rows, ReductionsOverLeadingAxesKeepWhatLanesComputed) {
  const Value x = input("x", shape(f32, "batch", "col"));
  const Value y = selu(x);
  const Graph graph = graph_of({x}, y - reduce_max(y, {0}, true));
  EXPECT_TRUE(compiled_matches(graph, {.compile = {.native = false}}));
  EXPECT_EQ(compile(graph, {.native = false}).kernel_count(), 1);
}

TEST(Rows, AResultInsideALoopIsKeptForTheNext) {
  const Value x = input("x", shape(f32, 6, "col", "seq"));
  const Value row = reduce_min(x, {2}, true);
  EXPECT_TRUE(compiled_matches(graph_of({x}, row - reduce_sum(row, {0}, true)), {.compile = {.native = false}}));
}

TEST(Rows, LanesOfOneLoopInsideAnother) {
  const Value x = input("x", shape(f32, 2));
  const Value y = broadcast(x - reduce_mean(x, {0}, true), {2, 2}, {0});
  EXPECT_TRUE(compiled_matches(graph_of({x}, y), {.compile = {.native = false}}));
}

TEST(Rows, RowsKeptInOnePhaseAreComputedAgainInTheNext) {
  const Value x = input("x", shape(f32, "row", "col"));
  const Value e = exp(x - reduce_max(x, {1}, true));
  const Value y = e / reduce_sum(e, {1}, true);
  const Value z = square(y - reduce_mean(y, {1}, true));
  EXPECT_TRUE(compiled_matches(graph_of({x}, z * reduce_sum(z, {0, 1}, true)), {.compile = {.native = false}}));
}

}  // namespace
}  // namespace tenon::schedule::views_test
