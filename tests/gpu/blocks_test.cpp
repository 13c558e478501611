// Kernels mapped to blocks of threads give what plain loops give, in the loop interpreter, which finds races.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "compiler/lowered.h"
#include "kernel/loop/loop_bytes.h"
#include "kernel/loop/loop_run.h"
#include "kernel/loop/loop_threads.h"
#include "schedule/blocks/map_to_blocks.h"
#include "support/arrays.h"
#include "support/differential.h"
#include "support/error_text.h"
#include "support/loop_kernels.h"
#include "support/loop_launch.h"
#include "support/model_cases.h"
#include "tenon/tenon.h"
#include "tenon/text.h"

namespace tenon::blocks_test {
namespace {

CompileOptions on_blocks() { return {.native = false, .machine = machine_named("sm_90a")}; }

class Blocks : public testing::TestWithParam<LoopCase> {};

/// Around a warp and a block.
const std::vector<int64_t> kSizes = {0, 1, 2, 31, 32, 33, 100, 255, 256, 257, 700};

TEST_P(Blocks, MatchPlainLoops) {
  const LoopCase& each = GetParam();
  const loops::Kernel mapped = schedule::map_to_blocks(each.kernel);
  ASSERT_NO_THROW(loops::verify(mapped)) << to_string(mapped);
  const KernelEntry entry = loops::interpreted(mapped);
  for (const Bindings& bindings : loop_bindings(kSizes)) {
    SCOPED_TRACE(bindings.to_string());
    std::vector<Array> expected = make_buffers(each.kernel, bindings, 7);
    each.prepare(bindings, expected);
    std::vector<Array> actual = expected;
    const std::vector<Array> of_mapped = make_buffers(mapped, bindings, 7);  // with what it keeps from phase to phase
    actual.insert(actual.end(), of_mapped.begin() + std::ssize(expected), of_mapped.end());
    const KernelStatus status = launch(mapped, entry, bindings, actual);
    const KernelStatus wanted = each.reference(bindings, expected);
    ASSERT_EQ(status.failed, wanted.failed);
    for (size_t i = 0; i < expected.size() && wanted.failed == 0; ++i) {
      if (each.kernel.buffers[i].role == loops::Role::output) {
        ASSERT_TRUE(close(actual[i], expected[i], each.relative, each.absolute)) << "buffer " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Blocks, testing::ValuesIn(loop_cases()),
                         [](const auto& each) { return each.param.name; });

TEST(BlocksOf, RandomGraphs) {
  for (uint64_t seed = 9000; seed < 9060; ++seed) {
    const RandomGraph random = random_graph(seed);
    for (const bool streamed : {false, true}) {
      CompileOptions options = on_blocks();
      options.fuse = seed % 4 != 0;
      if (streamed) options.most_row_bytes = 0;
      const auto difference = find_difference(random, seed, options);
      EXPECT_FALSE(difference) << "seed " << seed << ": " << *difference << "\n" << to_text(random.graph);
    }
  }
}

TEST(BlocksOf, Models) {
  for (const ModelCase& each : model_cases()) {
    const Model model = each.build();
    const Executable executable = compile(model.graph, on_blocks());
    const Bindings& bindings = each.bindings.front();
    const std::vector<Array> inputs = inputs_of(model, bindings, each.tokens);
    const auto expected = interpret(model.graph, inputs, {.bindings = bindings});
    const auto actual = executable.run(inputs, {.bindings = bindings});
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(close(actual[i], expected[i], 1e-3, 1e-4)) << each.name << ", output " << i;
    }
  }
}

/// The first kernel of a graph, mapped.
loops::Kernel first_kernel(const Graph& graph) {
  CompileReport report;
  const compiler::Lowered lowered = compiler::lower(graph, on_blocks(), report);
  return *lowered.kernels().front();
}

/// What `graph` gives on blocks is what the interpreter gives.
void expect_right(const Graph& graph, const std::vector<std::vector<std::vector<int64_t>>>& sizes) {
  const Executable executable = compile(graph, on_blocks());
  std::mt19937_64 random(7);
  for (const std::vector<std::vector<int64_t>>& dims : sizes) {
    std::vector<Array> inputs;
    for (const std::vector<int64_t>& each : dims)
      inputs.push_back(random_array(f32, each, random));
    const auto expected = interpret(graph, inputs);
    const auto actual = executable.run(inputs);
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_TRUE(close(actual[i], expected[i], 1e-4, 1e-4))
          << "output " << i << ", " << dims[0][0] << " by " << dims[0].back();
  }
}

/// Accesses are of 16 bytes where elements lie side by side.
TEST(BlocksOf, ThreadsTakeSeveralElements) {
  const auto several = [](Dtype dtype, const auto& compute) {
    const Value x = input("x", shape(dtype, "row", "col"));
    const loops::Kernel kernel = first_kernel(Graph({x}, {{"y", compute(x)}}));
    return loops::iterations_of_thread(kernel, kernel.phases.front());
  };
  const auto add = [](const Value& x) { return x + x; };
  EXPECT_EQ(several(f32, add), 4);
  EXPECT_EQ(several(f64, add), 2);
  EXPECT_EQ(several(bf16, add), 8);
  EXPECT_EQ(several(i8, add), 8);
  EXPECT_EQ(several(f32, [](const Value& x) { return softmax(x); }), 4);
  EXPECT_EQ(several(f32, [](const Value& x) { return matmul(x, transpose(x, {1, 0})); }), 1) << "blocks of two sides";
}

/// Rows that are short have blocks of one warp: a phase of their own where that is not known before.
TEST(BlocksOf, ShortRowsHaveBlocksOfAWarp) {
  const auto threads_of = [](const Value& x) {
    const loops::Kernel kernel = first_kernel(Graph({x}, {{"y", softmax(x)}}));
    std::vector<int64_t> threads;
    for (const loops::Phase& each : kernel.phases)
      threads.push_back(loops::threads_of(kernel, each) / loops::iterations_of_thread(kernel, each));
    return threads;
  };
  EXPECT_EQ(threads_of(input("x", shape(f32, "row", "col"))), (std::vector<int64_t>{32, 256}));
  EXPECT_EQ(threads_of(input("x", shape(f32, "row", 64))), std::vector<int64_t>{32}) << "it is known";
  EXPECT_EQ(threads_of(input("x", shape(f32, "row", 1024))), std::vector<int64_t>{32});
  EXPECT_EQ(threads_of(input("x", shape(f32, "row", 1025))), std::vector<int64_t>{256});
  const Value x = input("x", shape(f32, "row", "col"));
  expect_right(Graph({x}, {{"y", softmax(x)}, {"mean", reduce_mean(x, {1})}}),
               {{{3, 5}}, {{2, 128}}, {{2, 1023}}, {{2, 1024}}, {{2, 1025}}, {{0, 4}}, {{3, 0}}});
}

/// Along an axis that does not lie side by side: in parts, for any number of columns.
TEST(BlocksOf, SumsOfColumns) {
  const Value x = input("x", shape(f32, "row", "col"));
  const Value y = input("y", shape(f32, "col"));
  const Value scaled = mul(x, exp(y));
  const Graph graph({x, y}, {{"sum", reduce_sum(scaled, {0}) * y}, {"max", reduce_max(scaled, {0})}});
  const loops::Kernel kernel = first_kernel(Graph({x}, {{"sum", reduce_sum(x, {0})}}));
  EXPECT_EQ(kernel.phases.size(), 2u) << to_string(kernel);
  const Executable executable = compile(graph, on_blocks());
  std::mt19937_64 random(6);
  for (const int64_t rows : {0, 1, 31, 33, 700, 5000}) {
    for (const int64_t columns : {1, 5, 300}) {
      const std::vector<Array> inputs{random_array(f32, {rows, columns}, random), random_array(f32, {columns}, random)};
      const auto expected = interpret(graph, inputs);
      const auto actual = executable.run(inputs);
      for (size_t i = 0; i < expected.size(); ++i)
        EXPECT_TRUE(close(actual[i], expected[i], 1e-4, 1e-4)) << rows << " rows, " << columns << " columns";
    }
  }
}

/// Long sums, tiles that are not whole, rows and columns around those of a block.
TEST(BlocksOf, Products) {
  const Value x = input("x", shape(f32, "m", "k"));
  const Value y = input("y", shape(f32, "k", "n"));
  const Graph graph({x, y}, {{"z", softmax(matmul(x, y) * 0.125) + 1.0}});
  const Executable executable = compile(graph, on_blocks());
  std::mt19937_64 random(5);
  for (const std::vector<int64_t>& size : std::vector<std::vector<int64_t>>{
           {1, 1, 1}, {3, 0, 5}, {0, 4, 4}, {31, 33, 129}, {65, 7, 40}, {2, 5000, 3}, {130, 20, 260}}) {
    const std::vector<Array> inputs{random_array(f32, {size[0], size[1]}, random),
                                    random_array(f32, {size[1], size[2]}, random)};
    const auto expected = interpret(graph, inputs);
    EXPECT_TRUE(close(executable.run(inputs)[0], expected[0], 1e-4, 1e-5))
        << size[0] << " by " << size[1] << " by " << size[2];
  }
}

/// Images go from memory to the parts that a block shares, without a matrix of all windows between.
TEST(BlocksOf, ConvolutionsStoreNoWindows) {
  const Value x = input("x", shape(f32, "n", 8, "h", "w"));
  std::mt19937_64 random(3);
  const Value w = constant(random_array(f32, {20, 8, 3, 3}, random));
  const Graph graph({x}, {{"y", relu(conv(x, w, {.stride = {2, 2}, .low = {1, 1}, .high = {1, 1}}))}});
  const loops::Kernel kernel = first_kernel(graph);
  EXPECT_TRUE(std::ranges::none_of(kernel.buffers, [](const loops::Buffer& each) {
    const auto size = each.elements.constant();
    return each.role == loops::Role::scratch && size && *size >= 72 * 64;
  })) << to_string(kernel);
  const std::string text = to_string(kernel, true);
  EXPECT_NE(text.find(" first by "), std::string::npos) << "axes at digits: " << text;
  EXPECT_EQ(to_string(loops::kernel_from_bytes(loops::to_bytes(kernel)), true), text);
  expect_right(graph, {{{1, 8, 1, 1}}, {{2, 8, 7, 9}}, {{3, 8, 20, 13}}, {{0, 8, 4, 4}}, {{1, 8, 2, 150}}});
}

/// Two products, whose operands have the same scratch in turn, in tiles of which the last one is not whole.
TEST(BlocksOf, TilesOfTwoConvolutionsEndWhereTheirAxisDoes) {
  const Value x = input("x", shape(f32, 64, "b", "h", "w"));
  const Value y = input("y", shape(f32, 64, "b", "h", "w"));
  const ConvOptions padded{.low = {1, 1}, .high = {1, 1}};
  expect_right(Graph({x, y}, {{"z", conv(x, y, padded) + conv(relu(x), y * 0.5, padded)}}),
               {{{64, 1, 1, 1}, {64, 1, 1, 1}}, {{64, 2, 3, 2}, {64, 2, 3, 2}}});
}

/// Few tiles and a long sum: parts of the sum have blocks of their own, where sizes call for it.
TEST(BlocksOf, LongSumsOfProductsAreCut) {
  const Value x = input("x", shape(f32, "m", "k"));
  const Value y = input("y", shape(f32, "k", "n"));
  const Graph graph({x, y}, {{"z", relu(matmul(x, y))}});
  EXPECT_EQ(first_kernel(graph).phases.size(), 4u) << to_string(first_kernel(graph));
  const Value short_x = input("x", shape(f32, "m", 64));
  const Value short_y = input("y", shape(f32, 64, "n"));
  EXPECT_EQ(first_kernel(Graph({short_x, short_y}, {{"z", relu(matmul(short_x, short_y))}})).phases.size(), 1u);
  expect_right(graph, {{{1, 255}, {255, 3}},
                       {{1, 257}, {257, 130}},
                       {{3, 1000}, {1000, 200}},
                       {{70, 513}, {513, 5}},
                       {{0, 900}, {900, 4}},
                       {{2, 0}, {0, 4}}});
}

/// Warps have sums as instructions on matrices make them, of whatever types operands are rounded to.
TEST(BlocksOf, ProductsOfFewerBits) {
  const Value x = input("x", shape(f32, "m", "k"));
  const Value y = input("y", shape(f32, "k", "n"));
  const Value z = input("z", shape(f32, "n", "k"));
  std::mt19937_64 random(8);
  const Value w = constant(random_array(f32, {40, 70}, random));
  const Graph graph({x, y, z}, {{"plain", relu(matmul(x, y))},
                                {"turned", matmul(x, transpose(z, {1, 0})) * 0.5},
                                {"constant", matmul(slice_axis(matmul(x, y), 1, 0, 40), w)}});
  for (const Precision precision : {Precision::tf32, Precision::bf16, Precision::f16}) {
    CompileOptions options = on_blocks();
    options.precision = precision;
    const Executable executable = compile(graph, options);
    const Executable plain = compile(graph, {.native = false, .precision = precision});
    for (const auto& [m, k, n] : std::vector<std::array<int64_t, 3>>{{1, 1, 40}, {65, 40, 130}, {70, 600, 44}}) {
      const std::vector<Array> inputs{random_array(f32, {m, k}, random), random_array(f32, {k, n}, random),
                                      random_array(f32, {n, k}, random)};
      const auto expected = plain.run(inputs);
      const auto actual = executable.run(inputs);
      for (size_t i = 0; i < expected.size(); ++i)
        EXPECT_TRUE(close(actual[i], expected[i], 1e-3, 1e-3))
            << name(precision) << ", output " << i << ", " << m << " by " << k << " by " << n;
    }
  }
}

/// A loop as deep as the axes that are summed over, with other results on the way.
TEST(BlocksOf, SumsOverSeveralAxes) {
  const Value x = input("x", shape(f32, "n", "h", "w", "c"));
  const Value scaled = exp(x * 0.25);
  const Graph graph({x}, {{"scaled", scaled}, {"mean", reduce_mean(scaled, {1, 2})}});
  expect_right(graph, {{{2, 5, 7, 33}}, {{1, 1, 1, 1}}, {{1, 40, 3, 8}}, {{1, 0, 3, 8}}, {{5, 3, 2, 300}}});
}

}  // namespace
}  // namespace tenon::blocks_test
