// Shapes of picking, writing and arranging on symbolic extents, what bodies capture, and errors.
#include "tenon/indexing.h"

#include "ir/node.h"
#include "ir/walk.h"
#include "ops/builders/close_over.h"
#include "support/arrays.h"
#include "tenon/control.h"

namespace tenon::indexing_test {
namespace {

Value in(const char* name, const char* text) { return input(name, Shape::parse(text)); }
std::string shape_of(const Value& value) { return value.shape().to_string(); }

TEST(InferIndexing, ShapesOnSymbolicExtents) {
  const Value x = in("x", "f32[batch, seq, 12]");
  const Value i = in("i", "i64[batch, k, 12]");
  EXPECT_EQ(shape_of(take_along_axis(x, i, 1)), "f32[batch, k, 12]");
  EXPECT_EQ(shape_of(scatter_along_axis(x, i, in("u", "f32[batch, k, 12]"), 1)), "f32[batch, seq, 12]");
  EXPECT_EQ(shape_of(gather_nd(x, in("j", "i32[p, q, 2]"))), "f32[p, q, 12]");
  EXPECT_EQ(shape_of(gather_nd(x, in("j", "i32[batch, q, 1]"), 1)), "f32[batch, q, 12]");
  EXPECT_EQ(shape_of(top_k(x, 3).indices), "i64[batch, seq, 3]");
  EXPECT_EQ(shape_of(argsort(x, 1)), "i64[batch, seq, 12]");
  EXPECT_EQ(shape_of(cumulative_sum(x, 1)), "f32[batch, seq, 12]");
  EXPECT_EQ(shape_of(one_hot(in("c", "i64[batch, seq]"), 10)), "f32[batch, seq, 10]");
  EXPECT_EQ(shape_of(one_hot(in("c", "i64[batch, seq]"), 10, bf16, 1, 0, 1)), "bf16[batch, 10, seq]");
  EXPECT_EQ(shape_of(split_evenly(x, 2, 3)[2]), "f32[batch, seq, 4]");
  EXPECT_EQ(shape_of(split_evenly(in("y", "f32[2*n]"), 0, 2)[1]), "f32[n]");
  EXPECT_EQ(shape_of(split(x, 1, {Extent::name("a"), Extent::name("b")})[1]), "f32[batch, b, 12]");
  EXPECT_EQ(shape_of(stack({x, x}, 1)), "f32[batch, 2, seq, 12]");
  EXPECT_EQ(shape_of(tile(x, {1, 2, 1})), "f32[batch, 2*seq, 12]");
  EXPECT_EQ(shape_of(repeat_interleave(x, Extent::name("r"), 0)), "f32[batch*r, seq, 12]");
  EXPECT_EQ(shape_of(roll(x, 5, 1)), "f32[batch, seq, 12]");
  EXPECT_EQ(shape_of(diagonal(in("m", "f32[b, n, n]"), 1, 2)), "f32[b, n]");
  EXPECT_EQ(shape_of(tril(x)), "f32[batch, seq, 12]");
  EXPECT_EQ(shape_of(arange(0, Extent::name("seq"))), "i64[seq]");
}

struct Mistake {
  std::function<void()> build;
  std::string_view message;
};

TEST(InferIndexing, MistakesAreNamed) {
  const Value x = in("x", "f32[batch, 5]");
  const Value i = in("i", "i64[k]");
  const std::vector<Mistake> mistakes = {
      {[&] { scatter(x, in("u", "f32[k, 4]"), {i}, {.axes = {0}}); }, "scatter: axis 1 of the update is 4, must be 5"},
      {[&] { scatter(x, in("u", "f32[k]"), {i}, {.axes = {0}}); }, "the update is f32[k], must be f32[k, 5]"},
      {[&] { scatter(x, in("u", "f64[k, 5]"), {i}, {.axes = {0}}); }, "the update is f64, must be f32"},
      {[&] { scatter(x, in("u", "f32[k, 5]"), {i}, {.axes = {0}}, "sub"); },
       "`sub` is none of set, add, mul, max, min"},
      {[&] { scatter(in("b", "bool[n]"), in("u", "bool[k]"), {i}, {.axes = {0}}, "add"); }, "add is not for bool"},
      {[&] { scatter(x, in("u", "f32[k, 5]"), {x}, {.axes = {0}}); }, "positions are f32, must be integers"},
      {[&] { take_along_axis(x, i, 0); }, "the index has rank 1, must have 2"},
      {[&] { take_along_axis(x, in("j", "i64[batch, 6]"), 0); }, "axis 1 of the index is 6, more than the 5 of `x`"},
      {[&] { gather_nd(x, in("j", "i64[k, n]")); }, "the last axis of the indices, n, must be static"},
      {[&] { gather_nd(x, in("j", "i64[k, 3]")); },
       "positions along 3 axes behind 0 batch axes do not fit f32[batch, 5]"},
      {[&] { cumulative_sum(in("b", "bool[n]")); }, "scan: is for numbers, not bool"},
      {[&] { sort(x, 2); }, "sort:"},
      {[&] { top_k(x, 6); }, "reads up to 6 along axis 1, which is 5"},
      {[&] { split(x, 1, {2, 2}); }, "split: the parts add up to 4, axis 1 is 5"},
      {[&] { split_evenly(x, 1, 2); }, "axis 1 is 5, no multiple of 2"},
      {[&] { unstack(x, 0); }, "axis 0 is batch, must be static"},
      {[&] { tile(x, {2}); }, "lists 1 repeats for f32[batch, 5]"},
      {[&] { one_hot(x, 3); }, "positions are f32, must be integers"},
      {[&] { tril(i); }, "needs two axes, not i64[k]"},
  };
  for (const Mistake& mistake : mistakes) {
    const std::string error = error_text(mistake.build);
    EXPECT_NE(error.find(mistake.message), std::string::npos) << error << "\n  expected " << mistake.message;
  }
}

TEST(CloseOver, CapturesTheFrontierAlone) {
  const Value x = in("x", "f32[n]");
  const Value w = in("w", "f32[n]");
  const Value p = in("p", "f32[n]");
  const Value inner = exp(x);
  const Value outer = inner + w;  // computed from another value outside
  const Value constant_part = full(shape(f32, "n"), 2) * 3;
  const ClosedBodies closed =
      close_over({{.name = "body", .parameters = {p}, .outputs = {p * outer + constant_part, outer}}});
  EXPECT_EQ(closed.captures, std::vector<Value>{outer});
  const Graph& body = closed.graphs[0];
  ASSERT_EQ(body.inputs().size(), 2u);
  EXPECT_EQ(body.inputs()[0], p);
  EXPECT_EQ(body.inputs()[1].shape(), outer.shape());
  EXPECT_EQ(body.outputs()[1].value, body.inputs()[1]);
  for (const Node* node : body.nodes()) {
    EXPECT_TRUE(node != &x.node() && node != &w.node() && node != &inner.node());
  }
}

TEST(CloseOver, ACaptureUsedInsideAndInAnotherCapture) {
  const Value x = in("x", "f32[n]");
  const Value p = in("p", "f32[n]");
  const Value low = exp(x);
  const Value high = relu(low);
  const ClosedBodies closed = close_over({{.name = "body", .parameters = {p}, .outputs = {(p + high) * low}}});
  EXPECT_EQ(closed.captures, (std::vector<Value>{high, low}));
  EXPECT_EQ(closed.graphs[0].nodes().size(), 5u);  // three inputs, add, mul: nothing of the outside
}

TEST(CloseOver, ParametersAloneAndConstantsNeedNothing) {
  const Value p = in("p", "f32[n]");
  const ClosedBodies closed = close_over({{.name = "body", .parameters = {p}, .outputs = {p + 1, scalar(f32, 2)}}});
  EXPECT_TRUE(closed.captures.empty());
  EXPECT_EQ(closed.graphs[0].outputs()[0].value, p + 1);
}

TEST(CloseOver, OneOutputOfSeveral) {
  const Value x = in("x", "f32[n]");
  const Value p = in("p", "f32[n]");
  const auto sorted = sort_together({x, exp(x)}, 0);
  const ClosedBodies closed = close_over({{.name = "body", .parameters = {p}, .outputs = {p + sorted[1]}}});
  EXPECT_EQ(closed.captures, std::vector<Value>{sorted[1]});
  EXPECT_EQ(closed.graphs[0].nodes().size(), 3u);
}

TEST(CloseOver, LoopsPassTheirCapturesAsOperands) {
  const Value x = in("x", "f32[n]");
  const Value w = in("w", "f32[n]");
  const auto y = loop(4, {x}, [&](const Value&, const std::vector<Value>& v) { return std::vector<Value>{v[0] * w}; });
  EXPECT_EQ(y[0].node().inputs, (std::vector<Value>{x, w}));
  // Built twice, it is one node: bodies compare by structure.
  const auto again =
      loop(4, {x}, [&](const Value&, const std::vector<Value>& v) { return std::vector<Value>{v[0] * w}; });
  EXPECT_EQ(y[0], again[0]);
}

}  // namespace
}  // namespace tenon::indexing_test
