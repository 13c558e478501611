// Moving views takes a time that the size of the graph bounds.
#include "passes/fold_views.h"

#include <gtest/gtest.h>

#include "passes/recognize/recognize_composites.h"
#include "passes/simplify.h"
#include "tenon/ops.h"

namespace tenon::passes::fold_views_test {
namespace {

/// x to the power 2^60: each step has one reader, which reads it twice.
Value power(const Value& x) {
  Value y = x;
  for (int i = 0; i < 60; ++i) {
    y = y * y;
  }
  return y;
}

TEST(FoldViews, ManyWaysToOneValueAreNotAllWalked) {
  const Value x = input("x", shape(f32, "n", "m"));
  const Graph graph({x}, {{"y", transpose(power(transpose(x)))}});
  EXPECT_EQ(fold_views(graph), graph);
  EXPECT_EQ(simplify(graph), graph);
  EXPECT_EQ(recognize_composites(graph), graph);
}

TEST(FoldViews, MovesThroughASumOfMany) {
  const Value x = input("x", shape(f32, "n", "m"));
  Value y = transpose(x);
  Value expected = x;
  for (int i = 1; i < 10; ++i) {
    y = y + exp(transpose(x * double{1.0 + i}));
    expected = expected + exp(x * double{1.0 + i});
  }
  EXPECT_EQ(fold_views(Graph({x}, {{"y", transpose(y)}})), Graph({x}, {{"y", expected}}));
}

}  // namespace
}  // namespace tenon::passes::fold_views_test
