// Which sums of products become tiles, and what stands around them in one kernel.
#include "schedule/products/products.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "compiler/pipeline.h"
#include "schedule/schedule.h"
#include "support/equivalence.h"
#include "support/small_graph.h"
#include "tenon/models.h"

namespace tenon::schedule::products_test {
namespace {

Program program_of(const Graph& graph, const ScheduleOptions& options = {}) {
  std::vector<PassRun> runs;
  return make_program(compiler::optimize(graph, {}, runs), options);
}

void collect(const loops::Block& block, std::vector<loops::Product>& products) {
  for (const loops::Statement& statement : block) {
    if (const auto* loop = std::get_if<loops::Loop>(&statement.what)) {
      collect(loop->body, products);
    } else if (const auto* product = std::get_if<loops::Product>(&statement.what)) {
      products.push_back(*product);
    }
  }
}

std::vector<loops::Product> products_of(const loops::Kernel& kernel) {
  std::vector<loops::Product> products;
  for (const loops::Phase& phase : kernel.phases) {
    collect(phase.body, products);
  }
  return products;
}

/// Without those of forms for long rows, which stand in the place of others.
std::vector<loops::Product> products_of(const Program& program) {
  std::vector<loops::Product> products;
  for (const Step& step : program.steps) {
    for (const LaunchPart& part : parts_of(step)) {
      if (part.long_rows_of < 0) {
        const auto more = products_of(program.kernels.at(static_cast<size_t>(part.kernel)));
        products.insert(products.end(), more.begin(), more.end());
      }
    }
  }
  return products;
}

struct TiledCase {
  SmallGraph graph;
  size_t kernels = 1;
  size_t products = 1;
};

class TiledProducts : public testing::TestWithParam<TiledCase> {};

TEST_P(TiledProducts, AreInOneKernelWithWhatIsAround) {
  const Program program = program_of(make(GetParam().graph));
  EXPECT_EQ(program.steps.size(), GetParam().kernels);
  EXPECT_EQ(products_of(program).size(), GetParam().products);
  for (const loops::Kernel& kernel : program.kernels) {
    verify(kernel);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, TiledProducts,
    testing::Values(
        TiledCase{{"plain", "a: f32[m, k], b: f32[k, n]", "y = matmul(a, b)"}},
        TiledCase{{"batch", "a: f32[p, m, k], b: f32[p, k, n]", "y = matmul(a, b)"}},
        TiledCase{{"bias_gelu_residual", "a: f32[m, k], b: f32[k, n], c: f32[n], r: f32[m, n]",
                   "y = add(gelu(add(matmul(a, b), c)), r)"}},
        TiledCase{{"prologue", "a: f32[m, k], b: f32[k, n]", "y = matmul(relu(a), b)"}},
        TiledCase{{"two_in_one", "a: f32[m, k], b: f32[k, n], c: f32[m, l], d: f32[l, n]",
                   "y = add(matmul(a, b), matmul(c, d))"},
                  1,
                  2},
        TiledCase{
            {"gate_and_up", "x: f32[m, k], g: f32[k, n], u: f32[k, n]", "y = mul(silu(matmul(x, g)), matmul(x, u))"},
            1,
            2},
        TiledCase{{"convolution", "x: f32[b, 16, h, v], f: f32[32, 16, 3, 3]", "y = relu(conv(x, f))"}},
        TiledCase{
            {"attention", "q: f32[b, 4, s, 32], k: f32[b, 4, t, 32], v: f32[b, 4, t, 32]", "y = attention(q, k, v)"},
            1,
            2},
        // A sum along one vector alone, and a product of one vector and a matrix, are loops.
        TiledCase{{"vector", "a: f32[m, k], b: f32[k]", "y = matmul(a, b)"}, 1, 0},
        // But not those of bytes, for which there are instructions; the patches of an image are no matrix.
        TiledCase{{"row_of_bytes", "a: u8[1, k], b: i8[k, n], s: f32[n]",
                   "y = mul(cast(contract(a, b, lhs_contract=[1], rhs_contract=[0], dtype=i32), f32), s)"}},
        TiledCase{{"column_of_bytes", "a: i8[m, k], b: i8[k]",
                   "y = contract(a, b, lhs_contract=[1], rhs_contract=[0], dtype=i32)"}},
        TiledCase{
            {"one_channel_of_bytes", "x: u8[1, 16, h, v], f: i8[1, 16, 3, 3]", "y = conv(x, f, dtype=i32)"}, 1, 0},
        TiledCase{{"of_i64", "a: i64[m, k], b: i64[k, n]", "y = matmul(a, b)"}, 1, 0}),
    [](const auto& each) { return each.param.graph.name; });

/// A product that is stored as it is needs no tile beside its output.
TEST(TiledProductsPlain, WriteWhereTheyBelong) {
  const Program program = program_of(make({"plain", "a: f32[m, k], b: f32[k, n]", "y = matmul(a, b)"}));
  const loops::Kernel& kernel = program.kernels.at(0);
  const loops::Product product = products_of(kernel).at(0);
  EXPECT_EQ(kernel.buffers.at(static_cast<size_t>(product.tile.buffer)).role, loops::Role::output);
  EXPECT_EQ(scratch_bytes(kernel), Extent(kProductScratchBytes));
}

/// However long a chain is, what it has at one time is the result before and the next one.
TEST(TiledProductsPlain, ChainsShareScratch) {
  const Program program = program_of(make({"chain", "x: f32[m, 24], w: f32[24, 24]",
                                           "a = matmul(x, w); b = matmul(a, w); c = matmul(b, w); d = matmul(c, w); "
                                           "y = matmul(d, w)"}));
  const loops::Kernel& kernel = program.kernels.at(0);
  const std::vector<loops::Product> products = products_of(kernel);
  ASSERT_EQ(products.size(), 5U);
  std::set<int> scratch;
  for (const loops::Product& product : products) {
    EXPECT_NE(product.left.buffer, product.tile.buffer);
    const bool is_last = &product == &products.back();
    EXPECT_EQ(kernel.buffers.at(static_cast<size_t>(product.tile.buffer)).role,
              is_last ? loops::Role::output : loops::Role::scratch);
    scratch.insert(is_last ? product.work : product.tile.buffer);
  }
  EXPECT_EQ(scratch.size(), 3U);
  EXPECT_EQ(std::ranges::count(kernel.buffers, loops::Role::scratch, &loops::Buffer::role), 3);
}

/// Gradients of weights, and all that is done with them, run over rows of weights and not over windows.
TEST(Products, JoinShortColumns) {
  const auto longest_vector = [](const std::string& update) {
    const Program program = program_of(
        make({"moved", "x: f32[20, b, h, v], f: f32[24, b, h, v], u: f32[24, 20, 3, 3], r: f32[24, 20, 3, 1]",
              "g = transpose(conv(x, f, low=[1, 1], high=[1, 1]), axes=[1, 0, 2, 3]); " + update}));
    int64_t longest = 0;
    for (const loops::Axis& axis : program.kernels.back().axes) {
      const auto extent = axis.extent.constant();
      longest = extent && axis.name.ends_with("_row") ? std::max(longest, *extent) : longest;
    }
    return longest;
  };
  EXPECT_EQ(longest_vector("y = sub(u, g)"), 90);  // of 20 x 3 x 3, which two cores share
  EXPECT_EQ(longest_vector("y = sub(r, g)"), 0);   // it counts them differently
}

struct PanelCase {
  SmallGraph graph;
  size_t panels = 1;  // products that read them
};

class ConstantPanels : public testing::TestWithParam<PanelCase> {};

TEST_P(ConstantPanels, HoldWeights) {
  const Program program = program_of(make(GetParam().graph), {.panel = 16});
  size_t panels = 0;
  for (const loops::Product& product : products_of(program)) {
    EXPECT_TRUE(product.panel == 0 || product.panel == 16);
    panels += product.panel > 0 ? 1 : 0;
  }
  EXPECT_EQ(panels, GetParam().panels);
}

INSTANTIATE_TEST_SUITE_P(
    All, ConstantPanels,
    testing::Values(
        PanelCase{{"weights", "x: f32[m, 24], w: f32[24, 65]", "y = matmul(x, w)"}},
        PanelCase{{"transposed", "x: f32[m, 24], w: f32[65, 24]", "y = matmul(x, transpose(w))"}},
        PanelCase{{"dense", "x: f32[b, s, 24], w: f32[24, 65], c: f32[65]", "y = gelu(add(matmul(x, w), c))"}},
        PanelCase{{"two", "x: f32[m, 24], w: f32[24, 65], w2: f32[24, 65]", "y = mul(matmul(x, w), matmul(x, w2))"}, 2},
        // One row: what follows runs over columns side by side.
        PanelCase{{"row", "x: f32[24], w: f32[24, 65], c: f32[65]", "y = sigmoid(add(matmul(x, w), c))"}},
        PanelCase{{"row_by_columns", "x: f32[24], w: f32[65, 24], c: f32[65]", "y = sigmoid(add(matmul(w, x), c))"}},
        PanelCase{{"row_of_few_columns", "x: f32[24], w: f32[24, 20]", "y = sigmoid(matmul(x, w))"}, 0},
        PanelCase{{"also_read", "x: f32[m, 24], i: i64[1], w: f32[24, 65]", "y = add(matmul(x, w), take(w, i))"}, 0},
        // Images lie with their channels side by side, and columns are channels: but not those of a caller.
        PanelCase{{"convolution", "x: f32[b, 16, h, v], w: f32[32, 16, 3, 3]",
                   "y = reduce(relu(conv(x, w)), op=max, axes=[2, 3])"}},
        PanelCase{{"long_sums", "x: f32[b, 160, h, v], w: f32[32, 160, 3, 3]",
                   "y = reduce(relu(conv(x, w)), op=max, axes=[2, 3])"}},
        PanelCase{{"image_of_the_caller", "x: f32[b, 16, h, v], w: f32[32, 16, 3, 3]", "y = relu(conv(x, w))"}, 0},
        PanelCase{{"given", "x: f32[m, 24], v: f32[24, 65]", "y = matmul(x, v)"}, 0},
        PanelCase{{"of_f64", "x: f64[m, 24], w: f64[24, 65]", "y = matmul(x, w)"}, 0}),
    [](const auto& each) { return each.param.graph.name; });

/// Scratch of one thread at sizes that models have: the tile of a product, its packed panels, and blocks of operands
/// that are computed. Kernels whose rows would be too long have a second form.
class ModelScratch : public testing::TestWithParam<size_t> {};

/// At its typical sizes.
void expect_little_scratch(const Program& program, const ModelEntry& model) {
  const Bindings typical = Bindings::parse(model.typical);
  for (const Step& step : program.steps) {
    for (const LaunchPart& part : parts_of(step)) {
      if (part.long_rows_of < 0) {
        const loops::Kernel& kernel = program.kernels.at(static_cast<size_t>(part.kernel));
        const Extent bytes = scratch_bytes(kernel).substitute(kernel.arguments);
        EXPECT_LE(evaluate(bytes, typical), kMostScratch) << step.label << "\n" << to_string(kernel);
      }
    }
  }
}

TEST_P(ModelScratch, IsAtMostAMebibyte) {
  const ModelEntry& model = model_table()[GetParam()];
  expect_little_scratch(program_of(model.build().graph), model);
}

INSTANTIATE_TEST_SUITE_P(All, ModelScratch, testing::Range(size_t{0}, model_table().size()),
                         [](const auto& each) { return std::string(model_table()[each.param].name); });

/// With weights as constants, in panels: the models with convolutions, whose left sides are stored. (The weights of the
/// others take long to make; their left sides are read where they lie.)
class PanelScratch : public testing::TestWithParam<const char*> {};

TEST_P(PanelScratch, IsAtMostAMebibyte) {
  const auto model = std::ranges::find(model_table(), std::string_view(GetParam()), &ModelEntry::name);
  ASSERT_NE(model, model_table().end());
  expect_little_scratch(program_of(with_weights(model->build()), {.panel = 32}), *model);
}

INSTANTIATE_TEST_SUITE_P(All, PanelScratch,
                         testing::Values("small_cnn", "resnet18", "resnet50", "mobilenet_v2", "efficientnet_b0",
                                         "unet"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace tenon::schedule::products_test
