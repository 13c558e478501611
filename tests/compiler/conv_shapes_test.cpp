// Convolutions that models are made of, at sizes beyond one tile, with what is fused around them and their gradients.
#include <gtest/gtest.h>

#include "support/compiled.h"
#include "support/small_graph.h"
#include "tenon/autodiff.h"

namespace tenon::conv_shapes_test {
namespace {

struct ConvCase {
  SmallGraph graph;
  std::vector<Bindings> at;
};
void PrintTo(const ConvCase& c, std::ostream* out) { PrintTo(c.graph, out); }

class ConvShapes : public testing::TestWithParam<ConvCase> {};

TEST_P(ConvShapes, EqualTheInterpreter) {
  const auto& [graph, at] = GetParam();
  EXPECT_TRUE(matches_every_way(make(graph), {.relative = 1e-4, .of_largest = 1e-5, .at = at}));
}

TEST_P(ConvShapes, GradientsEqualTheInterpreter) {
  const auto& [graph, at] = GetParam();
  const Graph gradients = differentiate(make(graph), {.keep_outputs = false, .seed_input = true});
  EXPECT_TRUE(matches_every_way(gradients, {.relative = 1e-4, .of_largest = 1e-5, .at = at}));
}

/// Images of one element, of several rows in a tile, of several tiles in a row; none and several of them.
std::vector<Bindings> images(int64_t smallest) {
  return {{{"b", 0}, {"h", 9}, {"v", 8}},
          {{"b", 2}, {"h", smallest}, {"v", smallest}},
          {{"b", 1}, {"h", 23}, {"v", 30}},
          {{"b", 3}, {"h", smallest + 1}, {"v", 270}}};
}

/// What is padded is a number rounded to a half type, which is computed in f32.
TEST(ConvDtypes, OfAnElementThatWasCast) {
  const Graph graph = make({"cast", "x: bf16[1, 1, 1], w: f16[2, 1, 2]",
                            "y = conv(cast(x, f16), w, stride=[2], w_dilation=[2], low=[2], high=[2])"});
  EXPECT_TRUE(matches_every_way(graph, {.relative = 1e-3}));
}

/// Stored along a loop that the sum has too: both are of two steps.
TEST(ConvLoops, ABroadcastOfOneIsStoredSeveralTimes) {
  const Graph graph =
      make({"broadcast", "x: f32[1, 1, h], f: f32[4, 1, 2]",
            "c = conv(x, f, low=[2], high=[1]); y = broadcast(c, to=[2, 1, 4, h + 2], axes=[1, 2, 3])"});
  EXPECT_TRUE(matches_every_way(graph, {.relative = 1e-4, .at = {{{"h", 1}}, {{"h", 50}}}}));
}

/// What is counted does not move along all of the loops that the result has: it goes to memory first.
TEST(ConvLoops, OfWhatIsCountedAlongOneAxis) {
  for (const char* conv : {"conv(i, f, stride=[2, 1], low=[0, 2], high=[1, 1], groups=17)",
                           "conv(i, f, low=[1, 1], high=[1, 1], groups=17)"}) {
    const Graph graph = make({"counted", "z: f32[b], f: f32[34, 1, 3, 2]",
                              std::string("i = iota(f32[b, 17, 2, 2], axis=1, start=2); y = ") + conv});
    EXPECT_TRUE(matches_every_way(graph, {.relative = 1e-4, .at = {{{"b", 0}}, {{"b", 1}}, {{"b", 3}}}})) << conv;
  }
}

/// Along an axis of one channel nothing is counted, and no loop of the convolution moves the pixels.
TEST(ConvLoops, OfWhatIsCountedAlongAnAxisOfOne) {
  const Graph graph = make({"counted", "f: f32[3, 1, 3, 2], z: f32[h, v]",
                            "i = iota(f32[8, 1, h, v], axis=1, start=2, step=2); "
                            "y = conv(i, f, low=[2, 0], high=[1, 2])"});
  EXPECT_TRUE(matches_every_way(graph, {.relative = 1e-4, .at = {{{"h", 1}, {"v", 1}}, {{"h", 3}, {"v", 9}}}}));
}

INSTANTIATE_TEST_SUITE_P(
    All, ConvShapes,
    testing::Values(
        ConvCase{{"pointwise", "x: f32[b, 24, h, v], f: f32[40, 24, 1, 1]", "y = conv(x, f)"}, images(1)},
        ConvCase{{"pointwise_strided", "x: f32[b, 24, h, v], f: f32[40, 24, 1, 1]", "y = conv(x, f, stride=[2, 2])"},
                 images(1)},
        ConvCase{{"same", "x: f32[b, 9, h, v], f: f32[33, 9, 3, 3]", "y = conv(x, f, low=[1, 1], high=[1, 1])"},
                 images(1)},
        ConvCase{{"strided", "x: f32[b, 9, h, v], f: f32[33, 9, 3, 3]",
                  "y = conv(x, f, stride=[2, 2], low=[1, 1], high=[1, 1])"},
                 images(1)},
        ConvCase{{"first_layer", "x: f32[b, 3, h, v], f: f32[16, 3, 7, 7]",
                  "y = relu(conv(x, f, stride=[2, 2], low=[3, 3], high=[3, 3]))"},
                 images(1)},
        ConvCase{{"deep", "x: f32[b, 130, h, v], f: f32[10, 130, 3, 3]", "y = conv(x, f, low=[1, 1], high=[1, 1])"},
                 {{{"b", 2}, {"h", 7}, {"v", 7}}, {{"b", 1}, {"h", 1}, {"v", 40}}}},
        ConvCase{{"many_channels", "x: f32[b, 5, h, v], f: f32[300, 5, 2, 2]", "y = conv(x, f)"},
                 {{{"b", 2}, {"h", 7}, {"v", 7}}, {{"b", 1}, {"h", 2}, {"v", 40}}}},
        ConvCase{{"groups", "x: f32[b, 12, h, v], f: f32[30, 4, 3, 3]", "y = conv(x, f, groups=3)"}, images(3)},
        ConvCase{{"depthwise", "x: f32[b, 12, h, v], f: f32[12, 1, 3, 3]",
                  "y = relu(conv(x, f, groups=12, low=[1, 1], high=[1, 1]))"},
                 images(1)},
        ConvCase{{"depthwise_pointwise", "x: f32[b, 12, h, v], f: f32[12, 1, 3, 3], g: f32[20, 12, 1, 1]",
                  "y = conv(relu(conv(x, f, groups=12, low=[1, 1], high=[1, 1])), g)"},
                 images(1)},
        ConvCase{{"bias_relu_residual", "x: f32[b, 9, h, v], f: f32[9, 9, 3, 3], c: f32[9, 1, 1]",
                  "y = relu(add(add(conv(x, f, low=[1, 1], high=[1, 1]), c), x))"},
                 images(1)},
        ConvCase{{"two_layers", "x: f32[b, 6, h, v], f: f32[8, 6, 3, 3], g: f32[7, 8, 3, 3]",
                  "y = conv(relu(conv(x, f, low=[1, 1], high=[1, 1])), g, low=[1, 1], high=[1, 1])"},
                 images(1)},
        // Channels side by side, with weights that come with the run: few of them, many, or for few pixels.
        ConvCase{
            {"side_by_side", "x: f32[b, 3, h, v], f: f32[17, 3, 1, 1], g: f32[16, 17, 3, 3]",
             "y = reduce_sum(relu(conv(relu(conv(x, f)), g, low=[1, 1], high=[1, 1], stride=[2, 2])), axes=[2, 3])"},
            images(1)},
        ConvCase{{"side_by_side_many", "x: f32[b, 2, h, v], f: f32[32, 2, 1, 1], g: f32[82, 32, 5, 5]",
                  "y = reduce_sum(relu(conv(relu(conv(x, f)), g, low=[2, 2], high=[2, 2])), axes=[2, 3])"},
                 {{{"b", 0}, {"h", 2}, {"v", 3}}, {{"b", 1}, {"h", 1}, {"v", 1}}, {{"b", 3}, {"h", 7}, {"v", 12}}}},
        ConvCase{{"side_by_side_few", "x: f32[2, 3, 2, 3], f: f32[17, 3, 1, 1], g: f32[19, 17, 3, 3]",
                  "y = reduce_sum(relu(conv(relu(conv(x, f)), g, low=[1, 1], high=[1, 1])), axes=[2, 3])"},
                 {{}}},
        ConvCase{{"side_by_side_depthwise", "x: f32[b, 3, h, v], f: f32[16, 3, 1, 1], g: f32[16, 1, 3, 3]",
                  "y = reduce_sum(conv(relu(conv(x, f)), g, groups=16, low=[1, 1], high=[1, 1]), axes=[2, 3])"},
                 images(1)},
        ConvCase{{"side_by_side_line", "x: f32[b, 3, h], f: f32[16, 3, 1], g: f32[20, 16, 5]",
                  "y = reduce_sum(relu(conv(relu(conv(x, f)), g, low=[2], high=[2])), axes=[2])"},
                 {{{"b", 2}, {"h", 1}}, {{"b", 0}, {"h", 5}}, {{"b", 3}, {"h", 300}}}},
        ConvCase{{"of_two_inputs", "x: f32[b, 6, h, v], z: f32[b, 4, h, v], f: f32[8, 10, 3, 3]",
                  "y = conv(concat(x, z, axis=1), f, low=[1, 1], high=[1, 1])"},
                 images(1)},
        ConvCase{{"transposed", "x: f32[b, 8, h, v], f: f32[8, 6, 2, 2]", "y = conv_transpose(x, f, stride=[2, 2])"},
                 images(1)},
        ConvCase{{"weights", "x: f32[b, 9, h, v], w: f32[33, 9, 3, 3]", "y = conv(x, w, low=[1, 1], high=[1, 1])"},
                 images(1)},
        ConvCase{{"one_axis", "x: f32[b, 9, h], f: f32[12, 9, 5]", "y = tanh(conv(x, f, low=[2], high=[2]))"},
                 {{{"b", 2}, {"h", 1}}, {{"b", 0}, {"h", 5}}, {{"b", 3}, {"h", 300}}}},
        // Gradients of weights, moved by them: loops over windows and channels are one.
        ConvCase{{"moved_weights", "x: f32[20, b, h, v], f: f32[24, b, h, v], u: f32[24, 20, 3, 3]",
                  "g = transpose(conv(x, f, low=[1, 1], high=[1, 1]), axes=[1, 0, 2, 3]); y = sub(u, mul(g, 0.5))"},
                 {{{"b", 0}, {"h", 2}, {"v", 3}}, {{"b", 1}, {"h", 1}, {"v", 1}}, {{"b", 3}, {"h", 5}, {"v", 6}}}},
        ConvCase{{"moved_weights_masked", "x: f32[20, b, h, v], f: f32[24, b, h, v], u: f32[24, 20, 3, 1]",
                  "g = transpose(conv(x, f, low=[1, 1], high=[1, 1]), axes=[1, 0, 2, 3]); y = sub(u, g)"},
                 {{{"b", 0}, {"h", 2}, {"v", 3}}, {{"b", 1}, {"h", 1}, {"v", 1}}, {{"b", 3}, {"h", 5}, {"v", 6}}}},
        // Vectors that lie inside of the image, and those at its ends, along a stride and backwards.
        ConvCase{{"long_windows", "x: f32[b, 3, h], f: f32[3, 1, 31]", "y = conv(x, f, groups=3, low=[15], high=[15])"},
                 {{{"b", 2}, {"h", 1}}, {{"b", 0}, {"h", 5}}, {{"b", 2}, {"h", 30}}, {{"b", 1}, {"h", 300}}}},
        ConvCase{{"long_windows_strided", "x: f32[b, 2, h], f: f32[5, 2, 40]",
                  "y = conv(flip(x, axes=[2]), f, stride=[3], low=[19], high=[20])"},
                 {{{"b", 2}, {"h", 1}}, {{"b", 0}, {"h", 5}}, {{"b", 2}, {"h", 31}}, {{"b", 1}, {"h", 500}}}},
        ConvCase{{"three_axes", "x: f32[b, 4, h, v, 5], f: f32[6, 4, 3, 3, 2]", "y = conv(x, f)"},
                 {{{"b", 2}, {"h", 3}, {"v", 3}}, {{"b", 1}, {"h", 9}, {"v", 31}}}}),
    [](const auto& each) { return each.param.graph.name; });

}  // namespace
}  // namespace tenon::conv_shapes_test
