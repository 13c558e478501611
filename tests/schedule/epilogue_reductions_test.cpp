// Which reductions of what products leave are taken in the product's kernel.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/pipeline.h"
#include "kernel/loop/loop_walk.h"
#include "schedule/schedule.h"
#include "support/compiled.h"
#include "support/small_graph.h"
#include "tenon/convolution.h"
#include "tenon/nn.h"
#include "tenon/ops.h"

namespace tenon::schedule::epilogue_reductions_test {
namespace {

Program program_of(const Graph& graph) {
  std::vector<PassRun> runs;
  return make_program(compiler::optimize(graph, {}, runs));
}

bool has_product(const loops::Phase& phase) {
  bool found = false;
  loops::for_each_statement(phase.body, [&](const loops::Statement& statement) {
    found |= std::holds_alternative<loops::Product>(statement.what);
  });
  return found;
}

struct Case {
  SmallGraph graph;
  size_t steps = 1;
  bool in_epilogue = true;  // the first step has a product in its first phase and combines in its second
};

void PrintTo(const Case& each, std::ostream* out) { *out << each.graph.name; }

class EpilogueReductionForms : public testing::TestWithParam<Case> {};

TEST_P(EpilogueReductionForms, AreInTheKernelOfTheProduct) {
  const Program program = program_of(make(GetParam().graph));
  EXPECT_EQ(program.steps.size(), GetParam().steps);
  const loops::Kernel& kernel = program.kernels.at(0);
  EXPECT_TRUE(has_product(kernel.phases.at(0))) << to_string(kernel);
  EXPECT_EQ(kernel.phases.size(), GetParam().in_epilogue ? 2u : 1u) << to_string(kernel);
}

constexpr const char* kMatrices = "a: f32[m, k], c: f32[k, n]";
INSTANTIATE_TEST_SUITE_P(
    All, EpilogueReductionForms,
    testing::Values(
        Case{{"column_sums", kMatrices, "y = relu(matmul(a, c)); y1 = reduce_sum(y, axes=[0])"}},
        Case{{"row_sums", kMatrices, "y = relu(matmul(a, c)); y1 = reduce_sum(y, axes=[1])"}},
        Case{{"sum_of_all", kMatrices, "y = reduce_sum(matmul(a, c))"}},
        Case{{"variance", kMatrices, "y = relu(matmul(a, c)); y1 = variance(y, axes=[0], correction=0)"}},
        Case{{"softmax_of_columns", kMatrices, "y = softmax(matmul(a, c), axis=0)"}, 2},
        // Tiles hold these whole.
        Case{{"few_columns", "a: f32[m, k], c: f32[k, 48]", "y = softmax(matmul(a, c))"}, 1, false},
        // Rows that stay in cache are read again for free; a product that is only stored is written where it belongs.
        Case{{"short_rows", "a: f32[m, k], c: f32[k, 768], d: f32[768]", "y = layer_norm(add(matmul(a, c), d))"},
             2,
             false},
        Case{{"of_what_is_stored", kMatrices, "y = matmul(a, c); y1 = reduce_sum(y, axes=[0])"}, 2, false},
        // Sums of rows that the product's operand needs are needed again behind it.
        Case{{"behind_sums_of_rows", "a: f32[10, 16], c: f32[16, 16]",
              "n = mul(a, reduce_sum(a, axes=[1], keep=true)); y = reduce_sum(add(n, matmul(n, c)), axes=[0])"},
             2,
             false},
        // What is reduced does not come from the product.
        Case{{"of_its_operand", kMatrices, "y = matmul(a, c); y1 = reduce_sum(a, axes=[1])"}, 2, false}),
    [](const auto& each) { return each.param.graph.name; });

/// Batch norm in training: its statistics beside the convolution, and one kernel that reads the image once.
TEST(BatchNormBehindConvolutions, ReadsTheImageOnce) {
  const Value x = input("x", shape(f32, "batch", 3, "height", "width"));
  const Value w = input("w", shape(f32, 64, 3, 3, 3));
  std::vector<Value> inputs{x, w};
  for (const char* name : {"scale", "bias", "mean", "variance"}) {
    inputs.push_back(input(name, shape(f32, 64)));
  }
  const BatchNorm norm = batch_norm_training(conv(x, w), inputs[2], inputs[3], inputs[4], inputs[5]);
  const Program program = program_of(
      Graph(inputs, {{"y", relu(norm.y)}, {"mean", norm.running_mean}, {"variance", norm.running_variance}}));
  ASSERT_EQ(program.steps.size(), 2u);
  const loops::Kernel& first = program.kernels.at(0);
  EXPECT_EQ(first.phases.size(), 2u);
  EXPECT_TRUE(has_product(first.phases[0]));
  const loops::Kernel& second = program.kernels.at(1);
  EXPECT_TRUE(second.accumulators.empty()) << to_string(second);
  EXPECT_EQ(second.phases.size(), 1u);
}

/// Of two arrays that are one array multiplied by rows, that one is stored: what reads both is one kernel.
TEST(SharedSources, AreStoredInTheirPlace) {
  const Graph graph = make({"scaled", "x: f32[m, 64], f: f32[64, 96], c: f32[1, 96], d: f32[1, 96], u: f32[m, 96]",
                            "g = mul(relu(matmul(x, f)), u); a = mul(g, c); b = mul(g, d); "
                            "y = sub(a, reduce_sum(mul(a, u), axes=[0], keep=true)); "
                            "y1 = sub(b, reduce_sum(mul(b, u), axes=[0], keep=true))"});
  EXPECT_EQ(program_of(graph).steps.size(), 2U);
  EXPECT_TRUE(compiled_matches(graph, {.compile = {.native = false}, .relative = 1e-4, .of_largest = 1e-5}));
}

}  // namespace
}  // namespace tenon::schedule::epilogue_reductions_test
