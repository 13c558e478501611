// Graphs on the emulated GPU: those of the kernel-count table, more random ones, and products in all their forms.
#include <gtest/gtest.h>

#include <array>

#include "support/arrays.h"
#include "support/compiled.h"
#include "support/differential.h"
#include "tenon/tenon.h"
#include "tenon/text.h"
#ifdef TENON_COUNT_GRAPHS
#include "support/count_graphs.h"
#endif

namespace tenon::graphs_test {
namespace {

CompileOptions on_gpu(Precision precision = Precision::f32) {
  return {.disk_cache = false, .machine = gpu(), .precision = precision};
}

#ifdef TENON_COUNT_GRAPHS
class EmulatedCounts : public testing::TestWithParam<bench::CountGraph> {};

TEST_P(EmulatedCounts, EqualTheInterpreter) {
  if (std::string_view(GetParam().name) == "adam_4") GTEST_SKIP() << "powers of f64 have no code";
  EXPECT_TRUE(compiled_matches(GetParam().graph, {.compile = on_gpu(), .bindings = 2, .of_largest = 1e-5}));
}

INSTANTIATE_TEST_SUITE_P(Products, EmulatedCounts, testing::ValuesIn(bench::product_graphs()),
                         [](const auto& each) { return each.param.name; });
INSTANTIATE_TEST_SUITE_P(All, EmulatedCounts, testing::ValuesIn(bench::count_graphs()),
                         [](const auto& each) { return each.param.name; });
INSTANTIATE_TEST_SUITE_P(Tensors, EmulatedCounts, testing::ValuesIn(bench::tensor_graphs()),
                         [](const auto& each) { return each.param.name; });
#endif

/// What a graph of these inputs gives is what plain loops on the CPU give with the same precision.
void expect_right(const Graph& graph, Precision precision, const std::vector<Array>& inputs, const std::string& what) {
  const auto wanted = compile(graph, {.native = false, .precision = precision}).run(inputs);
  const auto actual = compile(graph, on_gpu(precision)).run(inputs);
  for (size_t i = 0; i < wanted.size(); ++i)
    EXPECT_TRUE(close(actual[i], wanted[i], 1e-3, 2e-3)) << what << ", " << name(precision) << ", output " << i;
}

class EmulatedProducts : public testing::TestWithParam<Precision> {};

/// Around tiles of instructions on matrices, of blocks and of the depth.
TEST_P(EmulatedProducts, OddSizes) {
  const Value x = input("x", shape(f32, "m", "k"));
  const Value y = input("y", shape(f32, "k", "n"));
  const Value bias = input("bias", shape(f32, "n"));
  const Graph graph({x, y, bias}, {{"z", gelu(matmul(x, y) * 0.25 + bias)}});
  std::mt19937_64 random(3);
  const Executable executable = compile(graph, on_gpu(GetParam()));
  const Executable plain = compile(graph, {.native = false, .precision = GetParam()});
  for (const auto& [m, k, n] : std::vector<std::array<int64_t, 3>>{{17, 8, 17},
                                                                   {16, 7, 24},
                                                                   {63, 16, 65},
                                                                   {64, 17, 128},
                                                                   {65, 33, 129},
                                                                   {1, 300, 19},
                                                                   {20, 520, 40},
                                                                   {0, 5, 6},
                                                                   {5, 0, 6},
                                                                   {18, 1, 18}}) {
    const std::vector<Array> inputs{random_array(f32, {m, k}, random), random_array(f32, {k, n}, random),
                                    random_array(f32, {n}, random)};
    const auto wanted = plain.run(inputs);
    EXPECT_TRUE(close(executable.run(inputs)[0], wanted[0], 1e-3, 2e-3))
        << name(GetParam()) << ", " << m << " by " << k << " by " << n;
  }
}

TEST_P(EmulatedProducts, BatchesConstantsAndTurnedOperands) {
  std::mt19937_64 random(4);
  const Value x = input("x", shape(f32, "b", "m", "k"));
  const Value y = input("y", shape(f32, "b", "n", "k"));
  const Value w = constant(random_array(f32, {37, 45}, random));
  const Graph graph({x, y}, {{"turned", matmul(x, transpose(y, {0, 2, 1}))},
                             {"left", matmul(transpose(x, {0, 2, 1}), x)},
                             {"constant", relu(matmul(x, w)) + 1.0}});
  expect_right(graph, GetParam(), {random_array(f32, {2, 35, 37}, random), random_array(f32, {2, 21, 37}, random)},
               "batches");
}

TEST_P(EmulatedProducts, Convolutions) {
  std::mt19937_64 random(5);
  const Value image = input("image", shape(f32, "b", 5, "h", "w"));
  const Value kernel = constant(random_array(f32, {19, 5, 3, 3}, random));
  const Graph graph({image},
                    {{"plain", relu(conv(image, kernel, {.low = {1, 1}, .high = {1, 1}}))},
                     {"strided", conv(image, kernel, {.stride = {2, 2}, .dilation = {1, 2}, .high = {0, 3}})}});
  expect_right(graph, GetParam(), {random_array(f32, {2, 5, 7, 9}, random)}, "convolutions");
}

INSTANTIATE_TEST_SUITE_P(Of, EmulatedProducts,
                         testing::Values(Precision::f32, Precision::tf32, Precision::bf16, Precision::f16),
                         [](const auto& each) { return std::string(name(each.param)); });

/// Operands of half types, by instructions on their own type.
TEST(EmulatedHalves, Products) {
  std::mt19937_64 random(6);
  for (const Dtype dtype : {bf16, f16}) {
    const Value x = input("x", shape(dtype, "m", "k"));
    const Value y = input("y", shape(dtype, "k", "n"));
    const Graph graph({x, y},
                      {{"z", relu(matmul(x, y))}, {"turned", matmul(transpose(y, {1, 0}), transpose(x, {1, 0}))}});
    const Executable executable = compile(graph, on_gpu());
    for (const auto& [m, k, n] :
         std::vector<std::array<int64_t, 3>>{{17, 16, 24}, {33, 40, 65}, {64, 64, 128}, {21, 530, 18}}) {
      const std::vector<Array> inputs{random_array(dtype, {m, k}, random), random_array(dtype, {k, n}, random)};
      const auto wanted = interpret(graph, inputs);
      const auto actual = executable.run(inputs);
      for (size_t i = 0; i < wanted.size(); ++i)
        EXPECT_TRUE(close(actual[i], wanted[i], 1e-2, 1e-2))
            << name(dtype) << ", " << m << " by " << k << " by " << n << ", output " << i;
    }
  }
}

/// Scratch that no block can have lies in the device's memory.
TEST(EmulatedScratch, LongRowsThatAreKept) {
  const Value x = input("x", shape(f64, "row", "col"));
  const Value centred = x - expand_dims(reduce_mean(x, {1}), {1});
  const Graph graph({x}, {{"y", centred * centred / expand_dims(reduce_max(abs(centred), {1}), {1})}});
  std::mt19937_64 random(7);
  const std::vector<Array> inputs{random_array(f64, {3, 40'000}, random)};
  EXPECT_TRUE(close(compile(graph, on_gpu()).run(inputs)[0], interpret(graph, inputs)[0], 1e-6, 1e-9));
}

TEST(EmulatedRandomGraphs, EqualTheInterpreter) {
  for (uint64_t seed = 12000; seed < 12060; ++seed) {
    const RandomGraph random = random_graph(seed);
    CompileOptions options = on_gpu();
    options.fuse = seed % 4 != 0;
    const auto difference = find_difference(random, seed, options);
    if (difference && difference->find("no code for on GPUs") != std::string::npos) continue;
    EXPECT_FALSE(difference) << "seed " << seed << ": " << *difference << "\n" << to_text(random.graph);
  }
}

}  // namespace
}  // namespace tenon::graphs_test
