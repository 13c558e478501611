// Gradients of every kind against differences in f64, at several bindings; of gradients too.
#include "tenon/autodiff.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "ir/node.h"
#include "support/arrays.h"
#include "support/finite_difference.h"
#include "tenon/convolution.h"
#include "tenon/indexing.h"
#include "tenon/interpreter.h"
#include "tenon/nn.h"
#include "tenon/ops.h"

namespace tenon::passes::autodiff_test {
namespace {

using Inputs = std::vector<Value>;

Value named(std::string_view name) { return extent_value(Extent::name(name)); }

/// Positions 0 ... of `axes`, scrambled, in [0, n).
Value positions(const std::vector<Axis>& axes, int axis, std::string_view n) {
  return mod(iota(Shape(i64, axes), axis) * 5 + 2, named(n));
}

std::vector<GradientCase> cases() {
  const Shape v = shape(f64, "n");
  const Shape m = shape(f64, "n", "m");
  const std::vector<Bindings> one = {{{"n", 0}}, {{"n", 1}}, {{"n", 3}}, {{"n", 9}}};
  const std::vector<Bindings> two = {
      {{"n", 0}, {"m", 2}}, {{"n", 1}, {"m", 1}}, {{"n", 3}, {"m", 2}}, {{"n", 2}, {"m", 0}}, {{"n", 5}, {"m", 7}}};
  const std::vector<Bindings> full = {{{"n", 1}, {"m", 1}}, {{"n", 3}, {"m", 2}}, {{"n", 4}, {"m", 5}}};
  const Extent n = Extent::name("n");
  const auto pad_by = [n](const char* mode) {
    return [n, mode](const Inputs& x) { return Inputs{pad(x[0] * x[0], {2, n - 1}, {1, 0}, mode)}; };
  };
  const std::vector<Bindings> padded = {{{"n", 1}}, {{"n", 2}}, {{"n", 4}}};
  return {
      // Map: reuse, broadcasting, halves
      {"maps", {v, v}, [](const Inputs& x) { return Inputs{tanh(x[0] * x[1]) + exp(x[0]) / (2 + sin(x[1]))}; }, one},
      {"reused input", {v}, [](const Inputs& x) { return Inputs{x[0] * x[0] * x[0] + x[0], x[0] * 2}; }, one},
      {"select and clamp",
       {v, v},
       [](const Inputs& x) { return Inputs{select(lt(x[0], 0.5), x[0] * x[1], sin(x[1])), clamp(x[0], -1, 1)}; },
       one},
      {"broadcast of fewer axes",
       {m, shape(f64, "m"), shape(f64)},
       [](const Inputs& x) { return Inputs{tanh(x[0] * x[1] + x[2])}; },
       two},
      {"broadcast of static ones",
       {m, shape(f64, "n", 1), shape(f64, 1, "m"), shape(f64, 1, 1)},
       [](const Inputs& x) { return Inputs{x[0] * x[1] * x[2] * x[3]}; },
       two},
      {"broadcast of an axis that may be 1",
       {shape(f64, -1), v},
       [](const Inputs& x) { return Inputs{x[0] * x[1] * x[1]}; },
       {{{"a.0", 1}, {"n", 3}},
        {{"a.0", 3}, {"n", 3}},
        {{"a.0", 0}, {"n", 0}},
        {{"a.0", 1}, {"n", 0}},
        {{"a.0", 1}, {"n", 1}}}},
      {"broadcast of two axes that may be 1",
       {shape(f64, -1, -1), m},
       [](const Inputs& x) { return Inputs{sin(x[0] * x[1])}; },
       {{{"a.0", 1}, {"a.1", 2}, {"n", 3}, {"m", 2}},
        {{"a.0", 3}, {"a.1", 1}, {"n", 3}, {"m", 2}},
        {{"a.0", 1}, {"a.1", 1}, {"n", 2}, {"m", 4}},
        {{"a.0", 2}, {"a.1", 4}, {"n", 2}, {"m", 4}}}},
      // Reduce
      {"sums",
       {m},
       [](const Inputs& x) {
         return Inputs{reduce_sum(exp(x[0]), {0}), reduce_sum(x[0] * x[0], {1}), reduce_sum(sin(x[0]))};
       },
       two},
      {"means", {m}, [](const Inputs& x) { return Inputs{reduce_mean(x[0] * x[0], {1}, true)}; }, full},
      {"products",
       {m},
       [](const Inputs& x) {
         return Inputs{reduce_product(x[0], {0}), reduce_product(x[0], {1}), reduce_product(x[0])};
       },
       two},
      {"extrema",
       {m},
       [](const Inputs& x) { return Inputs{reduce_max(x[0] * x[0], {1}), reduce_min(x[0], {0, 1})}; },
       full},
      {"three reduced axes of four",
       {shape(f64, 2, "n", 3, 2)},
       [](const Inputs& x) { return Inputs{reduce_product(x[0], {0, 2, 3})}; },
       {{{"n", 0}}, {{"n", 1}}, {{"n", 2}}}},
      // Contract
      {"matrix product",
       {m, shape(f64, "m", 4)},
       [](const Inputs& x) { return Inputs{tanh(matmul(x[0], x[1]))}; },
       two},
      {"batched product",
       {shape(f64, "n", 2, "m"), shape(f64, "n", "m", 3)},
       [](const Inputs& x) { return Inputs{matmul(x[0], x[1])}; },
       two},
      {"scattered axes",
       {shape(f64, 2, "n", 3, "m", 4), shape(f64, "m", 5, 2, "n")},
       [](const Inputs& x) {
         return Inputs{contract(x[0], x[1],
                                {.lhs_batch = {3}, .rhs_batch = {0}, .lhs_contract = {1, 0}, .rhs_contract = {3, 2}})};
       },
       full},
      {"outer product and dot",
       {v, v},
       [](const Inputs& x) { return Inputs{contract(x[0], x[1], {}), matmul(x[0], x[1])}; },
       one},
      // Views
      {"reshape and transpose",
       {shape(f64, "n", 2, "m")},
       [n](const Inputs& x) { return Inputs{sin(reshape(transpose(x[0], {2, 0, 1}), {"m", Axis(n * 2)}))}; },
       two},
      {"explicit broadcast",
       {v},
       [](const Inputs& x) { return Inputs{broadcast(x[0] * x[0], {3, "n", "m"}, {1})}; },
       two},
      {"slices",
       {shape(f64, Axis(n + 5), 4)},
       [n](const Inputs& x) {
         return Inputs{slice(x[0] * x[0], {1, 0}, {n, 2}, {1, 2}), slice_axis(x[0], 1, 3, {}, -2)};
       },
       one},
      {"pad constant", {shape(f64, 3, "n")}, pad_by("constant"), padded},
      {"pad edge", {shape(f64, 3, "n")}, pad_by("edge"), padded},
      {"pad reflect", {shape(f64, 3, "n")}, pad_by("reflect"), padded},
      {"pad wrap", {shape(f64, 3, "n")}, pad_by("wrap"), padded},
      {"flip", {m}, [](const Inputs& x) { return Inputs{flip(x[0], {0, 1}) * x[0]}; }, two},
      // Joining, picking, writing
      {"concat",
       {v, shape(f64, "m"), shape(f64, 2)},
       [](const Inputs& x) { return Inputs{exp(concat({x[0], x[1], x[2], x[0]}, 0))}; },
       two},
      {"take", {m}, [](const Inputs& x) { return Inputs{take(x[0] * x[0], positions({2, 3}, 1, "n"), 0)}; }, full},
      {"gather with batch",
       {shape(f64, 2, "n", "m")},
       [](const Inputs& x) {
         return Inputs{gather(sin(x[0]), {positions({2, 3}, 1, "m"), positions({2, 3}, 0, "n")},
                              {.axes = {2, 1}, .x_batch = {0}, .index_batch = {0}})};
       },
       full},
      {"update",
       {shape(f64, Axis(n + 2), 3), shape(f64, "n", 2)},
       [](const Inputs& x) { return Inputs{exp(update_slice(x[0], x[1] * x[1], {1, 1}))}; },
       one},
      {"scatter",
       {v, shape(f64, 4)},
       [](const Inputs& x) {
         return Inputs{scatter(x[0], sin(x[1]), {positions({4}, 0, "n")}, {.axes = {0}}, "add") * 2};
       },
       {{{"n", 1}}, {{"n", 4}}}},
      // The kinds with rules of their own
      {"sort",
       {m},
       [](const Inputs& x) { return Inputs{sort(x[0] * x[0] * x[0], 1) * iota(Shape(f64, {"n", "m"}), 1)}; },
       full},
      {"running sums and products",
       {m},
       [](const Inputs& x) { return Inputs{cumulative_sum(x[0] * x[0], 1), cumulative_product(x[0], 0)}; },
       full},
      {"max pool",
       {shape(f64, 1, 2, Axis(n + 3))},
       [](const Inputs& x) { return Inputs{max_pool(x[0], {2})}; },
       {{{"n", 0}}, {{"n", 4}}}},
      {"conv",
       {shape(f64, 2, 2, Axis(n + 3)), shape(f64, 3, 2, 2)},
       [](const Inputs& x) { return Inputs{conv(sin(x[0]), x[1])}; },
       {{{"n", 0}}, {{"n", 4}}}},
      // Structure
      {"barrier", {v, v}, [](const Inputs& x) { return Inputs{barrier({x[0] * x[1], x[1]})[0] * x[1]}; }, one},
      {"stops at positions and comparisons",
       {m},
       [](const Inputs& x) {
         return Inputs{x[0] * cast(gt(x[0], 0), f64), x[0] * expand_dims(cast(argmax(x[0], 1), f64), {1}),
                       floor(x[0]) * x[0]};
       },
       full},
  };
}

class Differences : public testing::TestWithParam<GradientCase> {};

TEST_P(Differences, MatchFirstDerivatives) { expect_first_derivatives(GetParam()); }
TEST_P(Differences, MatchSecondDerivatives) { expect_second_derivatives(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Autodiff, Differences, testing::ValuesIn(cases()),
                         [](const auto& instance) { return instance.param.test_name(); });

TEST(Autodiff, ProductsWithZerosHaveFiniteGradients) {
  const Value x = input("x", shape(f32, 2, 3));
  const Graph graph({x}, {{"y", reduce_sum(reduce_product(x, {1}))}});
  const Array at = Array::from<float>({2, 3}, {2, 0, 5, 0, 7, 0});
  EXPECT_TRUE(same(interpret(differentiate(graph), {at})[1], Array::from<float>({2, 3}, {0, 10, 0, 0, 0, 0})));
  // The product vanishes in f32, the gradients do not.
  const Value tiny = input("x", shape(f32, 2));
  const Graph small({tiny}, {{"y", reduce_product(tiny)}});
  const Array ends = Array::from<float>({2}, {1e-30F, 1e-30F});
  EXPECT_TRUE(same(interpret(differentiate(small), {ends})[1], ends));
}

TEST(Autodiff, TiedExtremaShareTheGradient) {
  const Value x = input("x", shape(f32, 4));
  const Graph graph({x}, {{"y", reduce_max(x)}});
  const Array at = Array::from<float>({4}, {1, 3, 3, -2});
  EXPECT_TRUE(same(interpret(differentiate(graph), {at})[1], Array::from<float>({4}, {0, 0.5, 0.5, 0})));
}

TEST(Autodiff, StoppedGradientsCountAsConstants) {
  const Value x = input("x", shape(f32, 3));
  const Array at = Array::from<float>({3}, {-1, 2, 3});
  const Graph graph({x}, {{"y", reduce_sum(square(x) * stop_gradient(x))}});
  EXPECT_TRUE(same(interpret(differentiate(graph), {at})[1], Array::from<float>({3}, {2, 8, 18})));
  const Graph none({x}, {{"y", reduce_sum(stop_gradient(x))}});
  EXPECT_TRUE(same(interpret(differentiate(none), {at})[1], Array::from<float>({3}, {0, 0, 0})));
}

TEST(Autodiff, HalfTypesComputeInF32) {
  for (const Dtype dtype : {f16, bf16}) {
    const Value x = input("x", shape(dtype, 3));
    const Value w = input("w", shape(dtype, 3, 2));
    const Value y = reduce_sum(contract(sigmoid(x), w, {.lhs_contract = {0}, .rhs_contract = {0}}, f32));
    const Graph graph = differentiate(Graph({x, w}, {{"y", y}}));
    std::mt19937_64 rng(1);
    const std::vector<Array> inputs = {random_array(dtype, {3}, rng), random_array(dtype, {3, 2}, rng)};
    const std::vector<Array> actual = interpret(graph, inputs);
    const std::vector<Array> expected = interpret(graph, inputs, {.reference = true});
    for (const size_t i : {size_t{1}, size_t{2}}) {
      EXPECT_EQ(actual[i].dtype(), dtype);
      EXPECT_TRUE(close(actual[i].cast(f64), expected[i], dtype == f16 ? 2e-3 : 1e-2, 1e-5));
    }
  }
}

TEST(Autodiff, InputsWithoutInfluenceGetZeros) {
  const Value x = input("x", shape(f32, "n"));
  const Value other = input("other", shape(f32, "n", 2));
  const Graph graph = differentiate(Graph({x, other}, {{"y", reduce_sum(x)}}));
  ASSERT_EQ(graph.outputs().size(), 3U);
  EXPECT_EQ(graph.outputs()[2].name, "d_other");
  const auto out = interpret(graph, {Array(f32, {3}), Array::full(f32, {3, 2}, 7)});
  EXPECT_TRUE(same(out[1], Array::full(f32, {3}, 1)));
  EXPECT_TRUE(same(out[2], Array(f32, {3, 2})));
}

TEST(Autodiff, ValuesInsideHaveGradientsToo) {
  const Value x = input("x", shape(f64));
  const Value square = x * x;
  const std::vector<Value> found = gradients(sin(square), {square, x});
  const Graph graph({x}, {{"inner", found[0]}, {"outer", found[1]}});
  const auto out = interpret(graph, {Array::scalar(f64, 0.7)});
  EXPECT_NEAR(out[0].at(0), std::cos(0.49), 1e-15);
  EXPECT_NEAR(out[1].at(0), 1.4 * std::cos(0.49), 1e-15);
}

TEST(Autodiff, SeedsWeighTheResult) {
  const Value x = input("x", shape(f64, "n"));
  const Graph graph = differentiate(Graph({x}, {{"y", x * x}}), {.keep_outputs = false, .seed_input = true});
  ASSERT_EQ(graph.inputs().size(), 2U);
  EXPECT_EQ(graph.inputs()[1].node().as<Input>()->name, "d_y");
  const auto out = interpret(graph, {Array::from<double>({2}, {3, 4}), Array::from<double>({2}, {1, -2})});
  EXPECT_TRUE(same(out.at(0), Array::from<double>({2}, {6, -16})));
}

TEST(Autodiff, OptionsChooseOutputsAndInputs) {
  const Value x = input("x", shape(f64));
  const Value w = input("w", shape(f64));
  const Graph graph({x, w}, {{"first", x + w}, {"second", x * w}});
  const Graph found = differentiate(graph, {.output = "second", .inputs = {"w"}, .keep_outputs = false});
  ASSERT_EQ(found.outputs().size(), 1U);
  EXPECT_EQ(found.outputs()[0].name, "d_w");
  EXPECT_EQ(interpret(found, {Array::scalar(f64, 3), Array::scalar(f64, 5)})[0].at(0), 3);
}

TEST(Autodiff, AChainOfManyNodes) {
  const Value x = input("x", shape(f64));
  Value y = x;
  for (int i = 0; i < 100'000; ++i) {
    y = i % 2 == 0 ? y * 1.00001 : sin(y);
  }
  const Graph graph = differentiate(Graph({x}, {{"y", y}}));
  EXPECT_GT(graph.nodes().size(), 200'000U);
  double value = 0.5;
  double slope = 1;
  for (int i = 0; i < 100'000; ++i) {
    slope *= i % 2 == 0 ? 1.00001 : std::cos(value);
    value = i % 2 == 0 ? value * 1.00001 : std::sin(value);
  }
  const auto out = interpret(graph, {Array::scalar(f64, 0.5)});
  EXPECT_NEAR(out[0].at(0), value, 1e-12);
  EXPECT_NEAR(out[1].at(0), slope, std::fabs(slope) * 1e-9);
}

TEST(Autodiff, AValueWithManyUsersAddsThemUp) {
  const Value x = input("x", shape(f64));
  Value y = scalar(f64, 0);
  for (int i = 1; i <= 1000; ++i) {
    y = y + x * i;
  }
  const Graph graph = differentiate(Graph({x}, {{"y", y}}));
  EXPECT_EQ(interpret(graph, {Array::scalar(f64, 2)})[1].at(0), 500'500);
}

TEST(Autodiff, ErrorsNameWhatIsWrong) {
  const Value x = input("x", shape(f32, "n"));
  const Value i = input("index", shape(i64, "n"));
  EXPECT_EQ(error_text([&] { gradients(reduce_sum(x), {x, i}); }),
            "gradients: `index` is i64[n]; only floats have gradients");
  EXPECT_EQ(error_text([&] { gradients(x, {x}); }),
            "gradients: the result is f32[n]; without a seed it must be a scalar");
  EXPECT_EQ(error_text([&] { gradients(i, {x}); }), "gradients: the result is i64[n], must be a float");
  EXPECT_EQ(error_text([&] { gradients(x, {x}, reduce_sum(x)); }),
            "gradients: the seed is f32[], must be f32[n] as the result");
  const Graph graph({x, i}, {{"y", reduce_sum(x)}});
  EXPECT_EQ(error_text([&] { differentiate(graph, {.inputs = {"index"}}); }),
            "gradients: `index` is i64[n]; only floats have gradients");
  EXPECT_EQ(error_text([&] { differentiate(graph, {.inputs = {"z"}}); }),
            "differentiate: graph `main` has no input `z`");
  EXPECT_EQ(error_text([&] { differentiate(graph, {.output = "z"}); }),
            "differentiate: graph `main` has no output `z`; there is: y");
}

TEST(Autodiff, NamesThatAreTakenGetUnderscores) {
  const Value x = input("x", shape(f32));
  const Value d = input("d_y", shape(f32));
  const Graph graph = differentiate(Graph({x, d}, {{"y", x * d}, {"d_x", x}}), {.seed_input = true});
  EXPECT_EQ(graph.inputs()[2].node().as<Input>()->name, "d_y_");
  EXPECT_EQ(graph.outputs()[2].name, "d_x_");
  EXPECT_EQ(graph.outputs()[3].name, "d_d_y");
}

TEST(Gradients, SecondDerivativesOfActivationsAreFiniteFarOut) {
  const std::vector<float> far = {-1000, -90, -20, 0, 20, 90, 1000};
  for (const char* row : {"sigmoid", "softplus", "silu", "mish", "selu", "tanh", "gelu", "gelu_tanh", "softsign"}) {
    const Value x = input("x", shape(f32, "n"));
    const Value first = gradients(reduce_sum(map(row, {x})), {x})[0];
    const Graph graph({x}, {{"d2", gradients(reduce_sum(first), {x})[0]}});
    const Array out = interpret(graph, {Array::from<float>({7}, far)})[0];
    for (int64_t i = 0; i < out.size(); ++i) {
      EXPECT_TRUE(std::isfinite(out.at(i))) << row << " at " << far[static_cast<size_t>(i)];
    }
  }
  for (const char* row : {"elu", "celu", "logaddexp"}) {
    const Value x = input("x", shape(f32, "n"));
    const Value first = gradients(reduce_sum(map(row, {x, 1.0})), {x})[0];
    const Graph graph({x}, {{"d2", gradients(reduce_sum(first), {x})[0]}});
    const Array out = interpret(graph, {Array::from<float>({7}, far)})[0];
    for (int64_t i = 0; i < out.size(); ++i) {
      EXPECT_TRUE(std::isfinite(out.at(i))) << row << " at " << far[static_cast<size_t>(i)];
    }
  }
}

}  // namespace
}  // namespace tenon::passes::autodiff_test
