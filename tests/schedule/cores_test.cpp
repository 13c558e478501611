// Kernels are cut for the cores that the options name, whatever machine makes them.
#include <gtest/gtest.h>

#include "schedule/schedule.h"
#include "support/small_graph.h"

namespace tenon::schedule::cores_test {
namespace {

/// How many iterations the first grid has of the first kernel that has `label` in its name.
int64_t grid_size(const Graph& graph, int64_t cores, const Bindings& at, const std::string& label = "") {
  const Program program = make_program(graph, {.cores = cores});
  for (const loops::Kernel& kernel : program.kernels) {
    if (kernel.name.find(label) != std::string::npos) {
      int64_t size = 1;
      for (const int axis : kernel.phases.at(0).grid) {
        size *= evaluate(kernel.axes.at(static_cast<size_t>(axis)).extent.substitute(kernel.arguments), at);
      }
      return size;
    }
  }
  return 0;
}

TEST(Cores, AnOutputHasTwoTilesForEach) {
  const Graph graph = make({"product", "a: f32[m, k], b: f32[k, n]", "y = matmul(a, b)"});
  const Bindings at{{"m", 8192}, {"n", 8192}, {"k", 64}};
  EXPECT_EQ(grid_size(graph, 32, at), 64);
  EXPECT_EQ(grid_size(graph, 72, at), 144);
  EXPECT_EQ(grid_size(graph, 2, at), 64);  // a side of at most 1024
  const Bindings small{{"m", 1536}, {"n", 1024}, {"k", 64}};
  EXPECT_EQ(grid_size(graph, 2, small), 4);
  EXPECT_EQ(grid_size(graph, 8, small), 16);
}

TEST(Cores, SquaresOfAConvolutionAreEnoughForEach) {
  const Graph graph =
      make({"convolutions", "x: f32[b, 3, h, v], wa: f32[64, 3, 1, 1], wb: f32[64, 64, 3, 3], wc: f32[5, 64, 1, 1]",
            "a = conv(x, wa); c = conv(a, wb, low=[1, 1], high=[1, 1]); y = conv(c, wc)"});
  const Bindings at{{"b", 1}, {"h", 28}, {"v", 28}};
  EXPECT_GE(grid_size(graph, 2, at, "(winograd"), 2);
  EXPECT_GT(grid_size(graph, 8, at, "(winograd"), grid_size(graph, 2, at, "(winograd)"));
}

/// Where squares are not, results are cut, too.
TEST(Cores, ResultsOfAConvolutionAreEnoughForEach) {
  const Graph graph =
      make({"convolutions", "x: f32[b, 3, h, v], wa: f32[256, 3, 1, 1], wb: f32[256, 256, 3, 3], wc: f32[5, 256, 1, 1]",
            "a = conv(x, wa); c = conv(a, wb, low=[1, 1], high=[1, 1]); y = conv(c, wc)"});
  EXPECT_GE(grid_size(graph, 16, {{"b", 1}, {"h", 14}, {"v", 14}}, "(winograd"), 16);
  EXPECT_GE(grid_size(graph, 2, {{"b", 1}, {"h", 7}, {"v", 7}}, "(winograd"), 2);
}

}  // namespace
}  // namespace tenon::schedule::cores_test
