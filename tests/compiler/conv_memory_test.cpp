// No convolution materialises its patches, nor does a product more than what other kernels read.
#include <gtest/gtest.h>

#include "support/small_graph.h"
#include "tenon/autodiff.h"
#include "tenon/compile.h"

namespace tenon::conv_memory_test {
namespace {

struct MemoryCase {
  SmallGraph graph;
  Bindings bindings;
  int64_t forward = 0;  // bytes between kernels at most
};

class ConvMemory : public testing::TestWithParam<MemoryCase> {};

TEST_P(ConvMemory, NothingLiesBetweenKernels) {
  const Executable executable = compile(make(GetParam().graph), {.native = false});
  EXPECT_LE(executable.memory(GetParam().bindings).arena_bytes, GetParam().forward) << executable.explain();
}

/// Patches of windows with 9 elements or more would be that many times as large as what is given. Where a convolution
/// strides by 2 along both axes, the zeros between its gradient's elements may lie in memory.
TEST_P(ConvMemory, GradientsHoldNoPatches) {
  const Graph graph = make(GetParam().graph);
  const Executable executable =
      compile(differentiate(graph, {.keep_outputs = false, .seed_input = true}), {.native = false});
  int64_t given = 0;
  for (const Port& port : executable.inputs()) {
    given += evaluate(port.shape.element_count(), GetParam().bindings) * 4;
  }
  EXPECT_LE(executable.memory(GetParam().bindings).arena_bytes, 4 * given) << executable.explain();
}

const Bindings kImage{{"b", 2}, {"h", 40}, {"v", 50}};

INSTANTIATE_TEST_SUITE_P(
    All, ConvMemory,
    testing::Values(
        MemoryCase{{"same", "x: f32[b, 16, h, v], f: f32[32, 16, 3, 3]", "y = conv(x, f, low=[1, 1], high=[1, 1])"},
                   kImage},
        MemoryCase{{"strided", "x: f32[b, 16, h, v], f: f32[32, 16, 3, 3]",
                    "y = conv(x, f, stride=[2, 2], low=[1, 1], high=[1, 1])"},
                   kImage},
        MemoryCase{{"dilated", "x: f32[b, 16, h, v], f: f32[32, 16, 3, 3]", "y = conv(x, f, w_dilation=[2, 3])"},
                   kImage},
        MemoryCase{{"first", "x: f32[b, 3, h, v], f: f32[32, 3, 7, 7]",
                    "y = conv(x, f, stride=[2, 2], low=[3, 3], high=[3, 3])"},
                   kImage},
        MemoryCase{{"groups", "x: f32[b, 16, h, v], f: f32[32, 4, 3, 3]", "y = conv(x, f, groups=4)"}, kImage},
        MemoryCase{{"depthwise", "x: f32[b, 16, h, v], f: f32[16, 1, 3, 3]",
                    "y = conv(x, f, groups=16, low=[1, 1], high=[1, 1])"},
                   kImage},
        MemoryCase{{"one_axis", "x: f32[b, 16, h], f: f32[32, 16, 9]", "y = conv(x, f)"}, {{"b", 2}, {"h", 400}}},
        MemoryCase{{"three_axes", "x: f32[b, 4, h, v, 9], f: f32[8, 4, 3, 3, 3]", "y = conv(x, f)"},
                   {{"b", 1}, {"h", 12}, {"v", 13}}},
        MemoryCase{{"bias_relu", "x: f32[b, 16, h, v], f: f32[32, 16, 3, 3], c: f32[32, 1, 1]",
                    "y = relu(add(conv(x, f), c))"},
                   kImage}),
    [](const auto& each) { return each.param.graph.name; });

}  // namespace
}  // namespace tenon::conv_memory_test
