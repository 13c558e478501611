// First and second derivatives, at sizes 0 and 1 too, of a sample of composites and of what builders make of several
// kinds. (composite_gradient_test.cpp has the first derivatives of every composite.)
#include "support/finite_difference.h"
#include "tenon/convolution.h"
#include "tenon/einsum.h"
#include "tenon/indexing.h"
#include "tenon/losses.h"
#include "tenon/nn.h"
#include "tenon/random.h"
#include "tenon/recurrent.h"

namespace tenon::passes::autodiff_composites_test {
namespace {

using Inputs = std::vector<Value>;

Value labels(const char* n) { return mod(iota(Shape(i64, {n}), 0) * 5 + 2, scalar(i64, 3)); }

std::vector<GradientCase> cases() {
  const Shape rows = shape(f64, "n", 3);
  const Shape image = shape(f64, 2, 4, "n");
  const Shape c3 = shape(f64, 3);
  const Shape c4 = shape(f64, 4);
  const std::vector<Bindings> sizes = {{{"n", 0}}, {{"n", 1}}, {{"n", 4}}};
  const std::vector<Bindings> some = {{{"n", 2}}, {{"n", 5}}};
  const std::vector<Bindings> sequences = {
      {{"seq", 0}, {"batch", 2}}, {{"seq", 3}, {"batch", 1}}, {{"seq", 1}, {"batch", 2}}};
  const Shape sequence = shape(f64, "seq", "batch", 2);
  return {
      {"log softmax", {rows}, [](const Inputs& x) { return Inputs{log_softmax(x[0]), softmax(x[0], 0)}; }, some},
      {"layer norm", {rows, c3, c3}, [](const Inputs& x) { return Inputs{layer_norm(x[0], x[1], x[2])}; }, sizes},
      {"group norm", {image, c4, c4}, [](const Inputs& x) { return Inputs{group_norm(x[0], x[1], x[2], 2)}; }, some},
      {"batch norm in training",
       {image, c4, c4, c4, c4},
       [](const Inputs& x) {
         const BatchNorm y = batch_norm_training(x[0], x[1], x[2], x[3], x[4]);
         return Inputs{y.y, y.running_mean, y.running_variance};
       },
       some},
      {"dense",
       {rows, shape(f64, 3, 4), c4},
       [](const Inputs& x) { return Inputs{dense(x[0], x[1], x[2], "gelu")}; },
       sizes},
      {"causal attention with shared heads",
       {shape(f64, 1, 2, "n", 2), shape(f64, 1, 1, "n", 2), shape(f64, 1, 1, "n", 2)},
       [](const Inputs& x) { return Inputs{attention(x[0], x[1], x[2], {.causal = true})}; },
       sizes},
      {"cross entropy",
       {rows},
       [](const Inputs& x) { return Inputs{cross_entropy(x[0], labels("n"), {.label_smoothing = 0.1})}; },
       some},
      {"lstm",
       {sequence, shape(f64, 8, 2), shape(f64, 8, 2)},
       [](const Inputs& x) {
         const RecurrentResult y = lstm(x[0], {.w = x[1], .r = x[2]});
         return Inputs{y.outputs, y.last.c};
       },
       sequences,
       -1,
       1},
      {"gru",
       {sequence, shape(f64, 6, 2), shape(f64, 6, 2)},
       [](const Inputs& x) { return Inputs{gru(x[0], {.w = x[1], .r = x[2]}, {.reverse = true}).outputs}; },
       sequences,
       -1,
       1},
      {"einsum",
       {shape(f64, 2, "n", 3), shape(f64, 3, "n")},
       [](const Inputs& x) {
         return Inputs{einsum("bij,ji->b", {x[0], x[1]}), einsum("bij,kj->ibk", {x[0], sin(x[1])})};
       },
       {{{"n", 3}}}},
      {"strided conv",
       {shape(f64, 1, 2, "n", 5), shape(f64, 4, 1, 2, 3)},
       [](const Inputs& x) {
         return Inputs{conv(x[0], x[1], {.stride = {2, 1}, .low = {1, 0}, .high = {0, 1}, .groups = 2})};
       },
       {{{"n", 3}}, {{"n", 6}}}},
      {"transposed conv",
       {shape(f64, 1, 2, "n"), shape(f64, 2, 3, 3)},
       [](const Inputs& x) { return Inputs{conv_transpose(x[0], x[1], {.stride = {2}, .low = {1}})}; },
       {{{"n", 2}}, {{"n", 4}}}},
      {"pools",
       {shape(f64, 1, 2, "n")},
       [](const Inputs& x) {
         return Inputs{average_pool(x[0] * x[0], {3}, {.stride = {2}, .low = {1}, .high = {1}, .ceil_mode = true}),
                       max_pool(x[0], {2}, {.stride = {1}}), global_average_pool(x[0])};
       },
       {{{"n", 4}}, {{"n", 7}}}},
      {"resize",
       {shape(f64, 1, 1, "n", 3)},
       [](const Inputs& x) {
         return Inputs{resize(x[0] * x[0], {2, 3}, {Extent(5), Extent(4)}, {.mode = "linear"}),
                       resize(x[0], {2}, {Extent(7)}, {.mode = "cubic"})};
       },
       {{{"n", 2}}, {{"n", 4}}}},
      {"triangles rolls and tiles",
       {shape(f64, "n", 4)},
       [](const Inputs& x) {
         return Inputs{tril(x[0] * x[0]), roll(x[0], 1, 0), tile(x[0], {2, 1}), repeat_interleave(x[0], 3, 1)};
       },
       some},
      {"dropout",
       {rows},
       [](const Inputs& x) { return Inputs{dropout(x[0] * x[0], 0.3, scalar(u64, 7), scalar(u64, 1))}; },
       sizes},
  };
}

class CompositeDifferences : public testing::TestWithParam<GradientCase> {};

TEST_P(CompositeDifferences, MatchFirstDerivatives) { expect_first_derivatives(GetParam()); }
TEST_P(CompositeDifferences, MatchSecondDerivatives) { expect_second_derivatives(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Autodiff, CompositeDifferences, testing::ValuesIn(cases()),
                         [](const auto& instance) { return instance.param.test_name(); });

}  // namespace
}  // namespace tenon::passes::autodiff_composites_test
