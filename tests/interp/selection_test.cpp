// Results whose sizes data decide, against results by hand.
#include "tenon/selection.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/node.h"
#include "ir/unify_names.h"
#include "support/arrays.h"
#include "tenon/control.h"
#include "tenon/indexing.h"
#include "tenon/interpreter.h"
#include "tenon/nn.h"
#include "tenon/text.h"

namespace tenon::selection_test {
namespace {

const float kNan = std::numeric_limits<float>::quiet_NaN();

Value in(const char* name, const char* text) { return input(name, Shape::parse(text)); }
Array floats(std::vector<int64_t> dims, const std::vector<float>& values) {
  return Array::from(std::move(dims), values);
}
Array whole(std::vector<int64_t> dims, const std::vector<int64_t>& values) {
  return Array::from(std::move(dims), values);
}
Array truth(const std::vector<int64_t>& values) {
  return whole({static_cast<int64_t>(values.size())}, values).cast(boolean);
}

TEST(Positions, AreWhereAMaskIsTrue) {
  const Value x = in("x", "bool[row, column]");
  const Found found = positions(x, "n");
  EXPECT_EQ(found.positions.shape().to_string(), "i64[n]");
  const Graph graph({x}, {{"at", found.positions}, {"count", found.count}});
  const auto out = interpret(graph, {truth({0, 1, 1, 0, 0, 1}).reshaped({2, 3})});
  EXPECT_TRUE(same(out[0], whole({3}, {1, 2, 5})));
  EXPECT_TRUE(same(out[1], whole({}, {3})));
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{0, 3}, {2, 0}, {1, 1}}) {
    const auto none = interpret(graph, {Array(boolean, dims)});
    EXPECT_TRUE(same(none[0], whole({0}, {})));
    EXPECT_TRUE(same(none[1], whole({}, {0})));
  }
}

TEST(Positions, TheSizeEntersArithmeticAndLaterNodes) {
  const Value x = in("x", "f32[n]");
  const Value kept = compress(x, gt(x, 0), 0, "k");
  const Value doubled = concat({kept, kept}, 0);
  EXPECT_EQ(doubled.shape().to_string(), "f32[2*k]");
  const Value counted = iota(shape(i64, Extent::name("k")));  // needs the size, but nothing that was computed
  const Graph graph({x}, {{"counted", counted},
                          {"doubled", doubled},
                          {"size", extent_value(Extent::name("k") * 3 + 1)},
                          {"soft", softmax(kept, 0)},
                          {"square", matmul(reshape(kept, {"k", 1}), reshape(kept, {1, "k"}))}});
  auto out = interpret(graph, {floats({4}, {1, -1, 2, 0})});
  EXPECT_TRUE(same(out[0], whole({2}, {0, 1})));
  EXPECT_TRUE(same(out[1], floats({4}, {1, 2, 1, 2})));
  EXPECT_TRUE(same(out[2], whole({}, {7})));
  EXPECT_TRUE(close(out[3], floats({2}, {0.26894142F, 0.73105858F}), 1e-6));
  EXPECT_TRUE(same(out[4], floats({2, 2}, {1, 2, 2, 4})));
  out = interpret(graph, {floats({2}, {-1, -1})});
  EXPECT_TRUE(same(out[0], whole({0}, {})));
  EXPECT_TRUE(same(out[2], whole({}, {1})));
  EXPECT_TRUE(same(out[4], Array(f32, {0, 0})));
}

TEST(Positions, ConstraintsOnASizeAreCheckedWhenItIsBound) {
  const Value x = in("x", "f32[n]");
  const Value bias = in("bias", "f32[m]");
  const UnifyNames unify;
  const Value kept = compress(x, gt(x, 0), 0, "k");
  const Graph graph("main", {x, bias}, {{"y", kept + bias}}, {parse_constraint("k <= 2")});
  EXPECT_TRUE(same(interpret(graph, {floats({3}, {1, -1, 2}), floats({2}, {10, 20})})[0], floats({2}, {11, 22})));
  EXPECT_NE(error_text([&] { interpret(graph, {floats({3}, {1, 1, 2}), floats({3}, {1, 2, 3})}); }).find("k"),
            std::string::npos);
  EXPECT_NE(error_text([&] { interpret(graph, {floats({3}, {1, -1, 2}), floats({3}, {1, 2, 3})}); }).find("`k`"),
            std::string::npos);
}

TEST(Positions, NamesAreTheirOwn) {
  const Value x = in("x", "bool[k]");
  EXPECT_EQ(error_text([&] { Graph({x}, {{"y", positions(x, "k").positions}}); }),
            "graph `main`: the size of axis `k` is decided by data, so input `x` (bool[k]) cannot have it");
  const Value a = in("a", "bool[n]");
  const Value b = in("b", "bool[n]");
  EXPECT_EQ(
      error_text([&] { Graph({a, b}, {{"x", positions(a, "k").positions}, {"y", positions(b, "k").positions}}); }),
      "two nodes decide the size of axis `k`: names of such axes must differ");
  EXPECT_EQ(error_text([&] {
              const Value mask = eq(iota(shape(i64, "k")), 0);
              Graph({}, {{"y", positions(mask, "k").positions}});
            }),
            "the size of axis `k` depends on itself: what decides it needs it");
  EXPECT_NE(error_text([&] {
              interpret(Graph({a}, {{"y", positions(a, "k").positions}}), {truth({1})}, {.bindings = {{"k", 1}}});
            }).find("axis `k` cannot be given a size: data decide it"),
            std::string::npos);
  EXPECT_NE(positions(a).positions.shape(), positions(a).positions.shape()) << "each call makes a name";
}

TEST(Positions, ABodyCannotHaveThem) {
  const Value x = in("x", "bool[n]");
  const Place place("inner");
  const std::string text = error_text([&] {
    loop(3, {x}, [](const Value&, const std::vector<Value>& carried) {
      return std::vector<Value>{logical_and(carried[0], eq(reduce_sum(positions(carried[0], "k").positions), 3))};
    });
  });
  EXPECT_NE(text.find("data decide the size of axis `k`"), std::string::npos) << text;
  EXPECT_NE(text.find("at node \"inner\""), std::string::npos) << text;
}

TEST(Nonzero, GivesAColumnForEach) {
  const Value x = in("x", "f32[a, b, c]");
  const Graph graph({x}, {{"y", nonzero(x)}});
  Array data(f32, {2, 3, 2});
  auto values = data.mutable_values<float>();
  values[1] = 1;
  values[7] = kNan;
  values[11] = -2;
  EXPECT_TRUE(same(interpret(graph, {data})[0], whole({3, 3}, {0, 1, 1, 0, 0, 2, 1, 1, 1})));
  EXPECT_TRUE(same(interpret(graph, {Array(f32, {2, 0, 2})})[0], Array(i64, {3, 0})));
  const Value number = in("x", "i32[]");
  const Graph scalar({number}, {{"y", nonzero(number)}});
  EXPECT_TRUE(same(interpret(scalar, {Array::scalar(i32, 5)})[0], Array(i64, {0, 1})));
}

TEST(Nonzero, OfOnesCountsWithoutData) {
  const Value x = in("x", "f32[a, b]");
  const Value y = nonzero(full(x.shape(), 1));
  EXPECT_EQ(y.shape().to_string(), "i64[2, a*b]");
  EXPECT_TRUE(
      same(interpret(Graph({x}, {{"y", y}}), {Array(f32, {2, 2})})[0], whole({2, 4}, {0, 0, 1, 1, 0, 1, 0, 1})));
  EXPECT_EQ(nonzero(full(x.shape(), 0)).shape().to_string(), "i64[2, 0]");
}

TEST(Compress, KeepsSlices) {
  const Value x = in("x", "f32[row, column]");
  const Value mask = in("mask", "bool[m]");
  const Graph rows({x, mask}, {{"y", compress(x, mask, 0)}});
  const Graph columns({x, mask}, {{"y", compress(x, mask, -1)}});
  const Array data = floats({3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_TRUE(same(interpret(rows, {data, truth({0, 1, 1})})[0], floats({2, 2}, {3, 4, 5, 6})));
  EXPECT_TRUE(same(interpret(rows, {data, truth({0, 1})})[0], floats({1, 2}, {3, 4}))) << "a mask may be shorter";
  EXPECT_TRUE(same(interpret(columns, {data, truth({0, 1})})[0], floats({3, 1}, {2, 4, 6})));
  EXPECT_TRUE(same(interpret(columns, {data, truth({0, 0})})[0], Array(f32, {3, 0})));
}

struct UniqueCase {
  bool sorted;
  std::vector<float> values;
  std::vector<int64_t> first, inverse, counts;
};

TEST(Unique, SortedOrAsElementsAppear) {
  const Value x = in("x", "f32[n]");
  const Array data = floats({7}, {2, 1, kNan, 1, 3, kNan, 2});
  for (const UniqueCase& c : {UniqueCase{true, {1, 2, 3, kNan}, {1, 0, 4, 2}, {1, 0, 3, 0, 2, 3, 1}, {2, 2, 1, 2}},
                              UniqueCase{false, {2, 1, kNan, 3}, {0, 1, 2, 4}, {0, 1, 2, 1, 3, 2, 0}, {2, 2, 2, 1}}}) {
    const UniqueElements found = unique(x, {.sorted = c.sorted});
    const Graph graph({x}, {{"y", found.values}, {"f", found.first}, {"i", found.inverse}, {"c", found.counts}});
    const auto out = interpret(graph, {data});
    EXPECT_TRUE(close(out[0], floats({4}, c.values)));
    EXPECT_TRUE(same(out[1], whole({4}, c.first)));
    EXPECT_TRUE(same(out[2], whole({7}, c.inverse)));
    EXPECT_TRUE(same(out[3], whole({4}, c.counts)));
    const auto none = interpret(graph, {Array(f32, {0})});
    EXPECT_TRUE(same(none[0], Array(f32, {0})));
    EXPECT_TRUE(same(none[3], Array(i64, {0})));
    const auto one = interpret(graph, {floats({1}, {5})});
    EXPECT_TRUE(same(one[0], floats({1}, {5})));
    EXPECT_TRUE(same(one[2], whole({1}, {0})));
  }
}

TEST(Unique, SlicesOfAnAxis) {
  const Value x = in("x", "i32[a=2, n]");
  const UniqueElements found = unique(x, {.axis = 1});
  const Graph graph({x}, {{"y", found.values}, {"f", found.first}, {"i", found.inverse}, {"c", found.counts}});
  const auto out = interpret(graph, {Array::from<int32_t>({2, 4}, {3, 1, 3, 1, 0, 7, 0, 2})});
  EXPECT_TRUE(same(out[0], Array::from<int32_t>({2, 3}, {1, 1, 3, 2, 7, 0})));
  EXPECT_TRUE(same(out[1], whole({3}, {3, 1, 0})));
  EXPECT_TRUE(same(out[2], whole({4}, {2, 1, 2, 0})));
  EXPECT_TRUE(same(out[3], whole({3}, {1, 1, 2})));
}

TEST(Unique, SlicesOfAnyLength) {
  const Value x = in("x", "f32[n, m]");
  const UniqueElements found = unique(x, {.axis = 0});
  const Graph graph({x}, {{"y", found.values}, {"f", found.first}, {"i", found.inverse}, {"c", found.counts}});
  const auto out = interpret(graph, {floats({4, 3}, {2, kNan, 1, 0, 5, 9, 2, kNan, 1, 0, 5, 8})});
  EXPECT_TRUE(close(out[0], floats({3, 3}, {0, 5, 8, 0, 5, 9, 2, kNan, 1})));
  EXPECT_TRUE(same(out[1], whole({3}, {3, 1, 0})));
  EXPECT_TRUE(same(out[2], whole({4}, {2, 1, 2, 0})));
  EXPECT_TRUE(same(out[3], whole({3}, {1, 1, 2})));
  EXPECT_TRUE(same(interpret(graph, {floats({2, 1}, {3, 1})})[0], floats({2, 1}, {1, 3})));
  EXPECT_TRUE(same(interpret(graph, {Array(f32, {3, 0})})[3], whole({1}, {3}))) << "slices of nothing are equal";
  EXPECT_TRUE(same(interpret(graph, {Array(f32, {0, 3})})[0], Array(f32, {0, 3})));
  // The same by a loop of sorts, where there are many columns, as by sorts side by side.
  const Value wide = in("x", "f32[n, 9]");
  const Graph by_loop({wide}, {{"i", unique(wide, {.axis = 0}).inverse}});
  Array rows(f32, {3, 9});
  rows.mutable_values<float>()[8] = 1;
  EXPECT_TRUE(same(interpret(by_loop, {rows})[0], whole({3}, {1, 0, 0})));
}

/// Box i of one batch and class: corners, score.
struct Scored {
  std::vector<float> box;
  float score;
};

std::vector<int64_t> picked(const std::vector<Scored>& boxes, int64_t most, float overlap, float score,
                            bool center = false) {
  const Value b = in("boxes", "f32[batch, box, 4]");
  const Value s = in("scores", "f32[batch, class, box]");
  const Value picks = non_max_suppression(b, s,
                                          {.most = most,
                                           .overlap = scalar(f32, static_cast<double>(overlap)),
                                           .score = scalar(f32, static_cast<double>(score)),
                                           .center_and_size = center});
  const auto count = static_cast<int64_t>(boxes.size());
  Array corners(f32, {1, count, 4});
  Array scores(f32, {1, 1, count});
  for (size_t i = 0; i < boxes.size(); ++i) {
    std::ranges::copy(boxes[i].box, corners.mutable_values<float>().begin() + static_cast<std::ptrdiff_t>(4 * i));
    scores.mutable_values<float>()[i] = boxes[i].score;
  }
  const Array out = interpret(Graph({b, s}, {{"y", picks}}), {corners, scores})[0];
  std::vector<int64_t> result;
  for (int64_t i = 0; i < out.dims()[0]; ++i) {
    EXPECT_EQ(out.at(3 * i), 0);
    EXPECT_EQ(out.at(3 * i + 1), 0);
    result.push_back(static_cast<int64_t>(out.at(3 * i + 2)));
  }
  return result;
}

TEST(NonMaxSuppression, PicksTheBestThatIsLeft) {
  const std::vector<Scored> boxes = {
      {{0, 0, 1, 1}, 0.9F},   {{0, 0.1F, 1, 1.1F}, 0.75F}, {{1, 1.1F, 0, 0.1F}, 0.95F},  // corners in another order
      {{0, 10, 1, 11}, 0.5F}, {{0, 100, 1, 101}, 0.3F},    {{5, 5, 5, 5}, 0.6F},        {{0, 0, 1, 1}, kNan}};
  using List = std::vector<int64_t>;
  EXPECT_EQ(picked(boxes, 10, 0.5F, 0), (List{2, 5, 3, 4}));
  EXPECT_EQ(picked(boxes, 10, 0.5F, 0.4F), (List{2, 5, 3}));
  EXPECT_EQ(picked(boxes, 2, 0.5F, 0), (List{2, 5}));
  EXPECT_EQ(picked(boxes, 0, 0.5F, 0), List{});
  EXPECT_EQ(picked(boxes, 10, 0.95F, 0), (List{2, 0, 5, 3, 4}));
  EXPECT_EQ(picked({{{0, 0, 1, 1}, 0.5F}, {{0, 0, 1, 1}, 0.5F}}, 9, 0.5F, 0), List{0}) << "the first of equals";
  EXPECT_EQ(picked({}, 9, 0.5F, 0), List{});
  EXPECT_EQ(picked({{{0.5F, 0.5F, 1, 1}, 0.9F}, {{0.5F, 0.6F, 1, 1}, 0.8F}, {{9, 9, 2, 2}, 0.7F}}, 9, 0.5F, 0, true),
            (List{0, 2}));
}

TEST(NonMaxSuppression, OfNoneThatMayBePickedNoneArePicked) {
  const Value b = in("boxes", "f32[batch, box, 4]");
  const Value s = in("scores", "f32[batch, class, box]");
  const Graph graph({b, s}, {{"y", non_max_suppression(b, s, {.most = 0})}});
  EXPECT_TRUE(same(interpret(graph, {Array(f32, {2, 5, 4}), Array(f32, {2, 3, 5})})[0], Array(i64, {0, 3})));
}

TEST(NonMaxSuppression, ALimitMayBeData) {
  const Value b = in("boxes", "f32[batch, box, 4]");
  const Value s = in("scores", "f32[batch, class, box]");
  const Value limit = in("limit", "i64[]");
  const Graph graph({b, s, limit}, {{"y", non_max_suppression(b, s, {.limit = limit})}});
  const Array corners = floats({2, 2, 4}, {0, 0, 1, 1, 5, 5, 6, 6, 0, 0, 1, 1, 0, 0, 1, 1});
  const Array scores = floats({2, 2, 2}, {1, 2, 2, 1, 3, 4, 4, 3});
  EXPECT_TRUE(same(interpret(graph, {corners, scores, whole({}, {5})})[0],
                   whole({6, 3}, {0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 0})));
  EXPECT_TRUE(same(interpret(graph, {corners, scores, whole({}, {1})})[0],
                   whole({4, 3}, {0, 0, 1, 0, 1, 0, 1, 0, 1, 1, 1, 0})));
  EXPECT_TRUE(same(interpret(graph, {corners, scores, whole({}, {0})})[0], Array(i64, {0, 3})));
}

TEST(Selection, TextReadsBack) {
  const Graph graph = parse_graph(R"(graph main(x: f32[row, column], m: bool[row]) {
    i = nonzero(x)
    y = compress(x, m, 0, kept)
    v, f, n, c = unique(x)
    p, k = positions(m, axis="odd name")
    return i, y, v, k
  })");
  EXPECT_EQ(graph.outputs()[0].value.shape().to_string(), "i64[2, nonzero_1]");
  EXPECT_EQ(graph.outputs()[1].value.shape().to_string(), "f32[kept, column]");
  EXPECT_EQ(graph.outputs()[2].value.shape().to_string(), "f32[unique_2]");
  EXPECT_EQ(parse_graph(to_text(graph)), graph) << to_text(graph);
}

}  // namespace
}  // namespace tenon::selection_test
