// Derivatives of windows and convolutions against central differences in f64.
#include <cmath>
#include <limits>

#include "ir/unify_names.h"
#include "ops/gradient/gradient.h"
#include "ops/make.h"
#include "support/arrays.h"
#include "tenon/convolution.h"
#include "tenon/interpreter.h"

namespace tenon::convolution_gradient_test {
namespace {

using Dims = std::vector<int64_t>;

double weighted_sum(const Array& y, const Array& r) {
  double sum = 0;
  for (int64_t i = 0; i < y.size(); ++i) {
    sum += y.at(i) * r.at(i);
  }
  return sum;
}

/// The gradients of sum(r * y) for `inputs`, and what differences of y say they are.
template <class Kind>
void check_gradient(const Value& y, const std::vector<Value>& inputs, const std::vector<Array>& data,
                    std::mt19937_64& rng, const std::string& what) {
  const Value r = input("r", y.shape());
  const Gradients gradients = gradient(*y.node().as<Kind>(), y.node(), {r});
  ASSERT_EQ(gradients.size(), inputs.size()) << what;
  const Graph forward(inputs, {{"y", y}});
  const Array random = random_array(f64, interpret(forward, data)[0].dims(), rng);
  std::vector<Value> parameters = inputs;
  parameters.push_back(r);
  std::vector<Output> outputs;
  for (size_t i = 0; i < gradients.size(); ++i) {
    outputs.push_back({"g" + std::to_string(i), gradients[i]});
  }
  std::vector<Array> arguments = data;
  arguments.push_back(random);
  const std::vector<Array> computed = interpret(Graph(parameters, outputs), arguments);
  const double step = 1e-5;
  for (size_t k = 0; k < inputs.size(); ++k) {
    Array expected(f64, data[k].dims());
    for (int64_t i = 0; i < data[k].size(); ++i) {
      const auto at = [&](double delta) {
        std::vector<Array> moved = data;
        moved[k].mutable_values<double>()[static_cast<size_t>(i)] += delta;
        return weighted_sum(interpret(forward, moved)[0], random);
      };
      expected.mutable_values<double>()[static_cast<size_t>(i)] = (at(step) - at(-step)) / (2 * step);
    }
    EXPECT_TRUE(close(computed[k], expected, 1e-7, 1e-7)) << what << ", operand " << k;
  }
}

std::vector<Axis> named_axes(const char* prefix, size_t rank) {
  std::vector<Axis> axes;
  for (size_t i = 0; i < rank; ++i) {
    axes.emplace_back(Extent::name(prefix + std::to_string(i)));
  }
  return axes;
}

TEST(ConvolutionGradient, BothOperandsStaticAndSymbolic) {
  struct Case {
    Dims x, w;
    ConvOptions options;
  };
  const std::vector<Case> cases = {
      {{2, 2, 7}, {3, 2, 3}, {}},
      {{1, 1, 1}, {1, 1, 1}, {}},
      {{0, 2, 7}, {3, 2, 3}, {}},
      {{0, 6, 4}, {3, 2, 3}, {.groups = 3}},
      {{2, 2, 8}, {3, 2, 3}, {.stride = {2}, .low = {1}}},
      {{1, 2, 9}, {2, 2, 2}, {.stride = {4}}},  // the last elements are under no window
      {{2, 1, 8}, {2, 1, 3}, {.stride = {3}, .dilation = {2}, .low = {3}, .high = {1}}},
      {{1, 2, 9}, {2, 2, 2}, {.low = {-2}, .high = {-1}}},
      {{2, 1, 2}, {1, 1, 2}, {.low = {4}, .high = {5}}},  // windows of padding alone
      {{1, 2, 4}, {2, 2, 3}, {.dilation = {2}, .low = {2}, .high = {1}, .x_dilation = {3}}},
      {{1, 2, 4}, {2, 2, 2}, {.stride = {2}, .low = {1}, .high = {2}, .x_dilation = {2}}},
      {{2, 4, 6}, {6, 2, 3}, {.stride = {2}, .low = {1}, .high = {1}, .groups = 2}},
      {{2, 3, 5}, {3, 1, 3}, {.low = {1}, .high = {1}, .groups = 3}},
      {{2, 2, 5, 6}, {2, 2, 3, 2}, {.stride = {2, 3}, .dilation = {1, 2}, .low = {1, 0}, .high = {0, 2}}},
      {{1, 4, 4, 5}, {4, 2, 3, 3}, {.stride = {2, 1}, .low = {1, 1}, .high = {1, 1}, .groups = 2}},
      {{1, 1, 3, 4, 3}, {2, 1, 2, 2, 2}, {.stride = {1, 2, 1}, .low = {0, 1, 0}}},
      {{1, 2, 6}, {2, 2, 3}, {.stride = {2}, .padding = "same_upper"}},
  };
  std::mt19937_64 rng(21);
  for (size_t i = 0; i < cases.size(); ++i) {
    const Case& c = cases[i];
    const std::vector<Array> data{random_array(f64, c.x, rng), random_array(f64, c.w, rng)};
    const Value x = input("x", Shape(f64, {c.x.begin(), c.x.end()}));
    const Value w = input("w", Shape(f64, {c.w.begin(), c.w.end()}));
    check_gradient<Conv>(conv(x, w, c.options), {x, w}, data, rng, "case " + std::to_string(i));
    const UnifyNames lenient;  // channels of x and w
    const Value dx = input("x", Shape(f64, named_axes("x", c.x.size())));
    const Value dw = input("w", Shape(f64, named_axes("w", c.w.size())));
    check_gradient<Conv>(conv(dx, dw, c.options), {dx, dw}, data, rng, "symbolic case " + std::to_string(i));
  }
}

TEST(ConvolutionGradient, HasTheShapeOfTheOperand) {
  const Value x = input("x", Shape::parse("f32[batch, 4, h, w]"));
  const Value w = input("k", Shape::parse("f32[out, 2, k, 3]"));
  const Value y = conv(x, w, {.stride = {2, 1}, .low = {1, 1}, .high = {1, 1}, .groups = 2});
  const Gradients gradients = gradient(*y.node().as<Conv>(), y.node(), {input("r", y.shape())});
  EXPECT_EQ(gradients[0].shape().to_string(), x.shape().to_string());
  EXPECT_EQ(gradients[1].shape().to_string(), w.shape().to_string());
}

TEST(ConvolutionGradient, OfAGradientIsOneOfTheSameKind) {
  std::mt19937_64 rng(22);
  const Value x = input("x", Shape::parse("f64[n, 2, 8]"));
  const Value w = input("w", Shape::parse("f64[3, 2, 3]"));
  const Value y = conv(x, w, {.stride = {2}, .low = {1}, .high = {1}});
  const Value g = input("g", y.shape());
  const Gradients first = gradient(*y.node().as<Conv>(), y.node(), {g});
  const Value back = first[0];
  ASSERT_NE(back.node().as<Conv>(), nullptr);
  const Value kernel = input("kernel", back.node().inputs[1].shape());
  const Value again = make(*back.node().as<Conv>(), {g, kernel});
  check_gradient<Conv>(again, {g, kernel}, {random_array(f64, {2, 3, 4}, rng), random_array(f64, {2, 3, 3}, rng)}, rng,
                       "second");
}

struct WindowCase {
  Dims x;
  std::vector<int64_t> size, stride, dilation, low, high;
};

const std::vector<WindowCase>& window_cases() {
  static const std::vector<WindowCase> table = {
      {{9}, {3}, {1}, {1}, {0}, {0}},
      {{9}, {3}, {2}, {1}, {1}, {1}},
      {{8}, {2}, {3}, {2}, {0}, {0}},
      {{8}, {2}, {3}, {2}, {1}, {1}},
      {{7}, {3}, {1}, {2}, {2}, {2}},
      {{1}, {1}, {1}, {1}, {0}, {0}},
      {{0}, {1}, {2}, {1}, {0}, {0}},
      {{9}, {2}, {2}, {1}, {-1}, {-2}},
      {{3}, {2}, {1}, {1}, {1}, {1}},
      {{2, 5, 6}, {1, 3, 2}, {1, 2, 1}, {1, 1, 2}, {0, 1, 0}, {0, 0, 1}},
      {{0, 5, 6}, {1, 3, 2}, {1, 2, 1}, {1, 1, 2}, {0, 1, 0}, {0, 0, 1}},
      {{2, 3, 4}, {2, 2, 2}, {1, 1, 2}, {1, 1, 1}, {1, 0, 0}, {0, 1, 0}},
  };
  return table;
}

TEST(WindowGradient, EveryOperationStaticAndSymbolic) {
  std::mt19937_64 rng(23);
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::product, ReduceOp::max, ReduceOp::min}) {
    for (size_t i = 0; i < window_cases().size(); ++i) {
      const WindowCase& c = window_cases()[i];
      const Window window{
          op, c.size, c.stride, c.dilation, {c.low.begin(), c.low.end()}, {c.high.begin(), c.high.end()}};
      const std::vector<Array> data{random_array(f64, c.x, rng)};
      const std::string what = std::string(spellings(op)[static_cast<size_t>(op)]) + ", case " + std::to_string(i);
      const Value x = input("x", Shape(f64, {c.x.begin(), c.x.end()}));
      check_gradient<Window>(make(window, {x}), {x}, data, rng, what);
      const Value dynamic = input("x", Shape(f64, named_axes("x", c.x.size())));
      check_gradient<Window>(make(window, {dynamic}), {dynamic}, data, rng, "symbolic " + what);
    }
  }
}

TEST(WindowGradient, PaddingThatDependsOnTheSize) {
  std::mt19937_64 rng(24);
  const std::vector<PoolOptions> table = {
      {.stride = {2, 2}, .low = {1, 0}, .high = {1, 0}, .ceil_mode = true},
      {.stride = {3, 1}, .padding = "same_upper"},  // crops where the stride is beyond the span
      {.stride = {2, 3}, .padding = "same_lower"},
      {.stride = {1, 2}, .dilation = {2, 1}, .padding = "same_upper"},
  };
  const Value x = input("x", Shape(f64, named_axes("x", 4)));
  for (size_t i = 0; i < table.size(); ++i) {
    for (const Dims& dims : std::vector<Dims>{{1, 2, 3, 4}, {2, 1, 6, 5}, {0, 1, 4, 4}}) {
      const std::vector<Array> data{random_array(f64, dims, rng)};
      const std::string what = "options " + std::to_string(i);
      check_gradient<Window>(max_pool(x, {2, 2}, table[i]), {x}, data, rng, "max, " + what);
      check_gradient<Window>(sum_pool(x, {2, 2}, table[i]), {x}, data, rng, "sum, " + what);
    }
  }
}

/// The gradient of ones for a pool of size 3 with padding 1 on each side.
Array pool_gradient(ReduceOp op, const std::vector<double>& values, int64_t stride) {
  const Value x = input("x", Shape::parse("f64[n]"));
  const Value y = make(Window{op, {3}, {stride}, {1}, {1}, {1}}, {x});
  const Gradients gradients = gradient(*y.node().as<Window>(), y.node(), {full(y.shape(), 1)});
  return interpret(Graph({x}, {{"g", gradients[0]}}),
                   {Array::from<double>({static_cast<int64_t>(values.size())}, values)})[0];
}

TEST(WindowGradient, TheFirstOfEqualsGetsAll) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  const auto expect = [](const Array& actual, const std::vector<double>& expected) {
    EXPECT_TRUE(close(actual, Array::from<double>({static_cast<int64_t>(expected.size())}, expected)));
  };
  expect(pool_gradient(ReduceOp::max, {5, 5, 5, 5}, 1), {2, 1, 1, 0});
  expect(pool_gradient(ReduceOp::max, {0, 0}, 1), {2, 0});              // zeros are not padding
  expect(pool_gradient(ReduceOp::max, {-inf, -inf, 1}, 2), {1, 0, 1});  // neither is what padding counts as
  expect(pool_gradient(ReduceOp::min, {inf, inf, inf}, 2), {1, 1, 0});
  expect(pool_gradient(ReduceOp::max, {1, nan, 3}, 1), {0, 3, 0});
  expect(pool_gradient(ReduceOp::product, {0, 2, 0, 3}, 1), {2, 0, 9, 0});
}

}  // namespace
}  // namespace tenon::convolution_gradient_test
