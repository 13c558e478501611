// Numbers that stand for symbols, for front ends whose users see sizes as numbers.
#include "tensor/record/match_sizes.h"

#include <gtest/gtest.h>

#include "tenon/realizations.h"
#include "tensor/record/symbols.h"

namespace tenon::tensors::match_sizes_test {
namespace {

std::string text(const std::vector<Axis>& axes) { return Shape(f32, axes).to_string(); }

/// f32[ms_batch = 8, ms_seq = 5, 768].
Shape activations() { return {f32, {symbol("ms_batch", 8), symbol("ms_seq", 5), 768}}; }

TEST(MatchSizes, NamesGoAlongWithTheirAxes) {
  EXPECT_EQ(text(match_reshape(activations(), {8, 5, 12, 64})), "f32[ms_batch, ms_seq, 12, 64]");
  EXPECT_EQ(text(match_reshape(activations(), {40, 768})), "f32[ms_batch*ms_seq, 768]");
  EXPECT_EQ(text(match_reshape(activations(), {8, 3840})), "f32[ms_batch, 768*ms_seq]");
  EXPECT_EQ(text(match_reshape(activations(), {8, 1, 5, 768, 1})), "f32[ms_batch, 1, ms_seq, 768, 1]");
  EXPECT_EQ(text(match_reshape({f32, {symbol("ms_batch", 8) * 5, 768}}, {8, 5, 768})), "f32[ms_batch, 5, 768]");
  const Extent merged = symbol("ms_batch", 8) * symbol("ms_seq", 5);
  EXPECT_EQ(text(match_reshape({f32, {merged, 768}}, {8, 5, 768})), "f32[ms_batch, ms_seq, 768]");
  EXPECT_EQ(text(match_reshape({f32, {merged, 768}}, {5, 8, 12, 64})), "f32[ms_seq, ms_batch, 12, 64]");
  EXPECT_EQ(text(match_reshape({f32, {merged * 2, 768}}, {16, 5, 768})), "f32[2*ms_batch, ms_seq, 768]");
}

TEST(MatchSizes, NumbersStayWhereNamesDoNotFit) {
  EXPECT_EQ(text(match_reshape({f32, {7, 6}}, {6, 7})), "f32[6, 7]");
  EXPECT_EQ(text(match_reshape({f32, {symbol("ms_batch", 8), 3}}, {4, 6})), "f32[4, 6]");
  EXPECT_EQ(text(match_reshape({f32, {symbol("ms_empty", 0), 3}}, {0, 9})), "f32[0, 9]");
  EXPECT_EQ(text(match_reshape({f32, {}}, {1, 1})), "f32[1, 1]");
}

TEST(MatchSizes, BroadcastsAlignAtTheLastAxis) {
  EXPECT_EQ(text(match_broadcast({f32, {symbol("ms_seq", 5), 1}}, {8, 5, 4})), "f32[8, ms_seq, 4]");
}

TEST(SizesFromPlaces, AreConstantsUntilTheyChange) {
  const WithLazySettings here({.file = "sizes.py", .line = 3});
  EXPECT_EQ(size_from(4, 0, {}), Extent(4));
  EXPECT_EQ(size_from(4, 0, {}), Extent(4));
  EXPECT_FALSE(size_from(6, 0, {}).is_constant());
  EXPECT_EQ(size_of(size_from(6, 0, {})), 6);
  EXPECT_EQ(size_from(9, 1, {}), Extent(9));  // another number of the same line
}

TEST(SizesFromPlaces, FollowTheEndOfAnAxis) {
  const WithLazySettings here({.file = "sizes.py", .line = 9});
  EXPECT_EQ(size_from(4, 0, {}, symbol("ms_seq", 5)), Extent(4));
  const Extent longer = symbol("ms_seq", 11);
  EXPECT_EQ(size_from(10, 0, {}, longer), longer - 1);
  EXPECT_EQ(size_of(size_from(3, 0, {}, longer)), 3);  // neither the number nor the difference stayed
}

TEST(LazySettings, SayWhereLooksComeFrom) {
  clear_realizations();
  {
    const WithLazySettings outer({.file = "/home/ada/train.py", .line = 41});
    Tensor::ones({3}).sum().item();
  }
  EXPECT_EQ(realizations().back().place, "train.py:41");
  Tensor::ones({4}).sum().item();
  EXPECT_NE(realizations().back().place.find("match_sizes_test.cpp"), std::string::npos);
}

}  // namespace
}  // namespace tenon::tensors::match_sizes_test
