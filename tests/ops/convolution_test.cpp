// Shapes of convolutions, pools and resizes on symbolic extents, and errors that name the axis.
#include "tenon/convolution.h"

#include "ir/node.h"
#include "support/arrays.h"
#include "tenon/constraint.h"

namespace tenon::convolution_test {
namespace {

Value in(const char* name, const char* text) { return input(name, Shape::parse(text)); }
std::string shape_of(const Value& value) { return value.shape().to_string(); }
/// A shape with its extents in canonical form, so that the tests can spell out the formula.
std::string canonical(const char* text) { return Shape::parse(text).to_string(); }

bool needs(const Value& value, const char* relation) {
  const Constraint wanted = parse_constraint(relation);
  for (const Constraint& constraint : value.node().constraints) {
    if (constraint == wanted) {
      return true;
    }
  }
  return false;
}

TEST(InferConvolution, PositionsAreExtents) {
  const Value x = in("x", "f32[batch, 3, h, w]");
  const Value k3 = in("k3", "f32[out, 3, 3, 3]");
  EXPECT_EQ(shape_of(conv(x, k3)), canonical("f32[batch, out, h-2, w-2]"));
  EXPECT_EQ(shape_of(conv(x, k3, {.low = {1, 1}, .high = {1, 1}})), canonical("f32[batch, out, h, w]"));
  EXPECT_EQ(shape_of(conv(x, k3, {.stride = {2, 3}, .low = {1, 0}, .high = {1, 2}})),
            canonical("f32[batch, out, (h-1) floordiv 2+1, (w-1) floordiv 3+1]"));
  EXPECT_EQ(shape_of(conv(x, k3, {.dilation = {2, 1}, .low = {-1, 0}})), canonical("f32[batch, out, h-5, w-2]"));
  const Value any = in("k", "f32[out, 3, k, k]");
  EXPECT_EQ(shape_of(conv(x, any, {.stride = {2, 1}, .low = {Extent::name("p"), 0}, .high = {Extent::name("p"), 0}})),
            canonical("f32[batch, out, (h-k+2*p) floordiv 2+1, w-k+1]"));
  EXPECT_EQ(shape_of(conv(in("a", "f16[n, c, t]"), in("b", "f16[o, c, 1]"), {.stride = {2}})),
            canonical("f16[n, o, (t-1) floordiv 2+1]"));
  EXPECT_EQ(shape_of(conv(in("a", "f32[n, c, d, h, w]"), in("b", "f32[o, c, 2, 2, 2]"), {.stride = {2, 2, 2}})),
            canonical("f32[n, o, d floordiv 2, h floordiv 2, w floordiv 2]"));
}

TEST(InferConvolution, TheAxisMustHoldTheWindow) {
  const Value y = conv(in("x", "f32[batch, 3, h, w]"), in("k", "f32[8, 3, 5, 5]"), {.low = {2, 0}, .high = {1, 0}});
  EXPECT_TRUE(needs(y, "h >= 2"));
  EXPECT_TRUE(needs(y, "w >= 5"));
  EXPECT_FALSE(needs(y, "batch >= 1"));
  const Value pooled = max_pool(in("x", "f32[batch, c, h, w]"), {3, 1});
  EXPECT_TRUE(needs(pooled, "h >= 3"));
  EXPECT_EQ(pooled.node().constraints.size(), 1u) << "batch, c and w may be empty";
}

TEST(InferConvolution, SameGivesOnePositionForEachStride) {
  const Value x = in("x", "f32[n, c, h]");
  for (const char* rule : {"same_upper", "same_lower"}) {
    EXPECT_EQ(shape_of(conv(x, in("w", "f32[o, c, 3]"), {.padding = rule})), canonical("f32[n, o, h]"));
    EXPECT_EQ(shape_of(conv(x, in("w", "f32[o, c, 4]"), {.stride = {2}, .padding = rule})),
              canonical("f32[n, o, h ceildiv 2]"));
    EXPECT_EQ(shape_of(conv(x, in("w", "f32[o, c, 1]"), {.stride = {3}, .padding = rule})),
              canonical("f32[n, o, h ceildiv 3]"));
    EXPECT_EQ(shape_of(max_pool(x, {3}, {.stride = {2}, .padding = rule})), canonical("f32[n, c, h ceildiv 2]"));
  }
  EXPECT_EQ(shape_of(conv(x, in("w", "f32[o, c, 3]"), {.padding = "valid"})), canonical("f32[n, o, h-2]"));
}

TEST(InferConvolution, Groups) {
  const Value x = in("x", "f32[n, 6, h]");
  EXPECT_EQ(shape_of(conv(x, in("w", "f32[4, 3, 1]"), {.groups = 2})), canonical("f32[n, 4, h]"));
  EXPECT_EQ(shape_of(conv(in("x", "f32[n, c, h]"), in("w", "f32[c, 1, 3]"), {.groups = 6})),
            canonical("f32[n, c, h-2]"));
}

TEST(InferConvolution, Transposed) {
  const Value x = in("x", "f32[n, 4, h, w]");
  EXPECT_EQ(shape_of(conv_transpose(x, in("k", "f32[4, o, 2, 2]"), {.stride = {2, 2}})),
            canonical("f32[n, o, 2*h, 2*w]"));
  EXPECT_EQ(shape_of(conv_transpose(
                x, in("k", "f32[4, 3, 3, 3]"),
                {.stride = {2, 1}, .low = {1, 1}, .high = {1, 0}, .output_padding = {1, 0}, .groups = 2})),
            canonical("f32[n, 6, 2*h, w+1]"));
}

TEST(InferConvolution, Pools) {
  const Value x = in("x", "f32[n, c, h, w]");
  EXPECT_EQ(shape_of(max_pool(x, {2, 2})), canonical("f32[n, c, h floordiv 2, w floordiv 2]"));
  EXPECT_EQ(shape_of(max_pool(x, {3, 3}, {.stride = {2, 2}, .low = {1, 1}, .high = {1, 1}})),
            canonical("f32[n, c, (h-1) floordiv 2+1, (w-1) floordiv 2+1]"));
  EXPECT_EQ(shape_of(max_pool(x, {3, 3}, {.stride = {2, 2}, .ceil_mode = true})),
            canonical("f32[n, c, (h-3) ceildiv 2+1, (w-3) ceildiv 2+1]"));
  EXPECT_EQ(shape_of(average_pool(x, {3, 2}, {.stride = {1, 2}, .low = {1, 0}, .high = {1, 0}})),
            canonical("f32[n, c, h, w floordiv 2]"));
  EXPECT_EQ(shape_of(global_average_pool(x)), canonical("f32[n, c, 1, 1]"));
  EXPECT_EQ(shape_of(global_max_pool(in("x", "i8[n, c, t]"))), canonical("i8[n, c, 1]"));
  EXPECT_EQ(shape_of(adaptive_average_pool(x, {1, 7})), canonical("f32[n, c, 1, 7]"));
}

TEST(InferConvolution, Resizes) {
  const Value x = in("x", "f32[n, c, h, w]");
  const Extent h = Extent::name("h");
  EXPECT_EQ(shape_of(resize(x, {2, 3}, {Extent::name("a"), 2 * h}, {.mode = "cubic"})), canonical("f32[n, c, a, 2*h]"));
  EXPECT_EQ(shape_of(resize_by(x, {2, 3}, {{2}, {1, 3}}, {.mode = "linear"})),
            canonical("f32[n, c, 2*h, w floordiv 3]"));
  EXPECT_EQ(shape_of(resize_by(x, {-1}, {{1.5}})), canonical("f32[n, c, h, w+w floordiv 2]"));
  EXPECT_EQ(shape_of(resize_by(in("x", "u8[10]"), {0}, {{0.7321}})), canonical("u8[7]"));
  EXPECT_EQ(resize(x, {2, 3}, {h, Extent::name("w")}), x);
  EXPECT_EQ(resize_by(x, {2}, {{1}}), x);
}

TEST(InferConvolution, ErrorsNameTheAxis) {
  const Value x = in("x", "f32[batch, 4, 6, 3]");
  struct Case {
    std::function<Value()> build;
    const char* text;
  };
  const std::vector<Case> cases = {
      {[&] { return conv(x, in("w", "f32[8, 4, 3, 5]")); },
       "conv: axis 3 of `x` is 3, smaller than the window, which spans 5\n  `x`: f32[batch, 4, 6, 3]\n  `w`: f32[8, 4, "
       "3, 5]"},
      {[&] { return conv(x, in("w", "f32[8, 4, 3, 3]"), {.dilation = {1, 3}, .low = {0, 1}}); },
       "axis 3 of `x` is 3 (4 with padding), smaller than the window, which spans 7"},
      {[&] { return conv(x, in("w", "f32[8, 3, 3, 3]")); }, "axis 1 of `x` is 4, axis 1 of `w` is 3"},
      {[&] { return conv(x, in("w", "f32[8, 3, 3, 3]"), {.groups = 2}); },
       "axis 1 of `x` is 4, must be 6: 2 groups of 3 channels"},
      {[&] { return conv(x, in("w", "f32[7, 2, 3, 3]"), {.groups = 2}); },
       "axis 0 of `w` is 7, not a multiple of 2 groups"},
      {[&] { return conv(x, in("w", "f32[8, 4, 0, 3]")); }, "axis 2 of `w` is 0: a kernel has at least one offset"},
      {[&] { return conv(x, in("w", "f32[8, 4, 3]")); }, "the operands have 4 and 3 axes"},
      {[&] { return conv(x, in("w", "f16[8, 4, 3, 3]")); }, "operands are f32 and f16"},
      {[&] { return conv(x, in("w", "f32[8, 4, 3, 3]"), {.stride = {1}}); }, "lists 1 numbers as stride, must be 2"},
      {[&] { return conv(x, in("w", "f32[8, 4, 3, 3]"), {.stride = {1, 0}}); }, "stride 0 is not positive"},
      {[&] { return conv(x, in("w", "f32[8, 4, 3, 3]"), {.padding = "same"}); },
       "padding `same` is none of explicit, valid, same_upper, same_lower"},
      {[&] { return conv(x, in("w", "f32[8, 4, 3, 3]"), {.low = {1, 1}, .padding = "same_upper"}); },
       "padding is both given and `same_upper`"},
      {[&] { return conv(in("b", "bool[n, 4, 9]"), in("w", "bool[8, 4, 3]")); }, "is for numbers, not bool"},
      {[&] { return conv_transpose(x, in("w", "f32[5, 4, 3, 3]")); }, "axis 1 of `x` is 4, axis 0 of `w` is 5"},
      {[&] { return max_pool(x, {2, 4}); }, "axis 3 of `x` is 3, smaller than the window, which spans 4"},
      {[&] { return max_pool(x, {2}); }, "max_pool: lists 1 numbers as size, must be 2"},
      {[&] { return average_pool(in("i", "i32[n, c, t]"), {2}); }, "average_pool: is for floats, not i32; cast first"},
      {[&] { return adaptive_average_pool(x, {3, 2}); }, "axis 3 is 3, not a multiple of 2"},
      {[&] { return global_max_pool(in("m", "f32[n, c]")); }, "needs [batch, channel, position...]"},
      {[&] { return resize(x, {2}, {4}, {.mode = "area"}); }, "mode `area` is none of nearest, linear, cubic"},
      {[&] { return resize(x, {2}, {4}, {.coordinates = "tf"}); },
       "coordinate transformation `tf` is none of half_pixel"},
      {[&] { return resize(in("i", "u8[4]"), {0}, {8}, {.mode = "linear"}); }, "linear is for floats, not u8"},
      {[&] { return resize_by(x, {0}, {{0.7321}}); }, "resize_by: axis 0 is batch, and 0.7321 is no fraction"},
      {[&] { return resize_by(x, {2}, {{-1}}); }, "scale -1 / 1 of axis 2 is not positive"},
  };
  for (const Case& each : cases) {
    const std::string text = error_text(each.build);
    EXPECT_NE(text.find(each.text), std::string::npos) << "expected: " << each.text << "\n  actual: " << text;
  }
}

}  // namespace
}  // namespace tenon::convolution_test
