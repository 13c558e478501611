// Losses against closed forms in double.
#include "tenon/losses.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "ir/node.h"
#include "support/arrays.h"
#include "tenon/interpreter.h"

namespace tenon::losses_test {
namespace {

Value in(const char* name, const char* text) { return input(name, Shape::parse(text)); }
std::string body_name(const Value& value) { return value.node().as<Call>()->body.name(); }

double log_probability(const Array& x, int64_t row, int64_t classes, int64_t label) {
  long double sum = 0;
  for (int64_t c = 0; c < classes; ++c) {
    sum += std::exp(static_cast<long double>(x.at(row * classes + c)));
  }
  return static_cast<double>(static_cast<long double>(x.at(row * classes + label)) - std::log(sum));
}

struct LabelCase {
  const char* text;
  std::optional<int64_t> ignore = {};
  double smoothing = 0;
  bool weighted = false;
};

TEST(CrossEntropy, EveryOptionAgainstTheDefinition) {
  std::mt19937_64 rng(1);
  for (const LabelCase& c :
       {LabelCase{"plain"}, LabelCase{"ignore", -100}, LabelCase{"ignore a class", 2}, LabelCase{"smooth", {}, 0.1},
        LabelCase{"weighted", {}, 0, true}, LabelCase{"all", 0, 0.3, true}}) {
    const Value x = in("x", "f32[batch, seq, class]");
    const Value labels = in("labels", "i32[batch, seq]");
    const Value weight = in("weight", "f32[class]");
    std::vector<Output> outputs;
    for (const Reduction reduction : {Reduction::none, Reduction::mean, Reduction::sum}) {
      LabelOptions options{
          .reduction = reduction, .axis = -1, .ignore_index = c.ignore, .label_smoothing = c.smoothing};
      if (c.weighted) {
        options.weight = weight;
      }
      outputs.push_back({std::to_string(outputs.size()), cross_entropy(x, labels, options)});
    }
    const Graph graph({x, labels, weight}, outputs);
    for (const auto& [batch, seq, classes] :
         std::vector<std::array<int64_t, 3>>{{1, 1, 3}, {2, 3, 9}, {3, 1, 100}, {0, 2, 3}}) {
      const Array data = random_array(f32, {batch, seq, classes}, rng, -10, 10);
      Array label = random_array(i32, {batch, seq}, rng, 0, static_cast<double>(classes));
      if (c.ignore && *c.ignore < 0 && label.size() > 1) {
        label.mutable_values<int32_t>()[1] = static_cast<int32_t>(*c.ignore);
      }
      const Array w = random_array(f32, {classes}, rng, 0.5, 2);
      Array losses(f64, {batch, seq});
      double sum = 0;
      double shares = 0;
      for (int64_t row = 0; row < label.size(); ++row) {
        const auto target = static_cast<int64_t>(label.at(row));
        if (c.ignore && target == *c.ignore) {
          continue;
        }
        const auto weight_of = [&](int64_t i) { return c.weighted ? w.at(i) : 1.0; };
        double loss = -(1 - c.smoothing) * weight_of(target) * log_probability(data, row, classes, target);
        for (int64_t i = 0; i < classes; ++i) {
          loss -= c.smoothing / static_cast<double>(classes) * weight_of(i) * log_probability(data, row, classes, i);
        }
        losses.mutable_values<double>()[static_cast<size_t>(row)] = loss;
        sum += loss;
        shares += weight_of(target);
      }
      const auto out = interpret(graph, {data, label, w});
      EXPECT_TRUE(close(out[0], losses.cast(f32), 1e-5, 1e-5)) << c.text;
      EXPECT_TRUE(close(out[1], Array::scalar(f32, sum / shares), 1e-5, 1e-5)) << c.text;
      EXPECT_TRUE(close(out[2], Array::scalar(f32, sum), 1e-5, 1e-5)) << c.text;
    }
  }
}

TEST(CrossEntropy, ClassAxisInTheMiddle) {
  std::mt19937_64 rng(2);
  const Value x = in("x", "f32[batch, 4, width]");
  const Value labels = in("labels", "u8[batch, width]");
  const Value moved = transpose(x, {0, 2, 1});
  const Graph graph({x, labels}, {{"middle", cross_entropy(x, labels, {.reduction = Reduction::none})},
                                  {"last", cross_entropy(moved, labels, {.reduction = Reduction::none, .axis = -1})}});
  const auto out = interpret(graph, {random_array(f32, {2, 4, 5}, rng), random_array(u8, {2, 5}, rng, 0, 4)});
  EXPECT_TRUE(close(out[0], out[1], 1e-6));
  EXPECT_GT(out[0].at(0), 0);
}

TEST(CrossEntropy, LargeLogits) {
  const Value x = in("x", "f32[n, 2]");
  const Value labels = in("labels", "i64[n]");
  const Graph graph({x, labels}, {{"y", cross_entropy(x, labels, {.reduction = Reduction::none})}});
  const Array out = interpret(
      graph, {Array::from<float>({3, 2}, {1e4, -1e4, 1e4, -1e4, 1e4, 1e4}), Array::from<int64_t>({3}, {0, 1, 0})})[0];
  EXPECT_TRUE(close(out, Array::from<float>({3}, {0, 2e4, static_cast<float>(std::log(2.0))}), 1e-6));
}

TEST(CrossEntropy, HalfTypes) {
  for (const Dtype dtype : {f16, bf16}) {
    const Value x = input("x", shape(dtype, "n", 1000));
    const Value labels = in("labels", "i32[n]");
    const Graph graph({x, labels}, {{"y", cross_entropy(x, labels)}});
    std::mt19937_64 rng(3);
    const Array data = random_array(dtype, {7, 1000}, rng);
    const Array label = random_array(i32, {7}, rng, 0, 1000);
    const Array exact = interpret(graph, {data, label}, {.reference = true})[0];
    EXPECT_TRUE(close(interpret(graph, {data, label})[0], exact.cast(dtype), dtype == f16 ? 1e-3 : 8e-3));
  }
}

TEST(CrossEntropy, BadLabelsAreErrors) {
  const Value x = in("x", "f32[n, 3]");
  const Value labels = in("labels", "i32[n]");
  const Graph graph({x, labels}, {{"y", cross_entropy(x, labels, {.ignore_index = -7})}});
  const auto run = [&](int32_t label) {
    return error_text([&] { interpret(graph, {Array(f32, {1, 3}), Array::from<int32_t>({1}, {label})}); });
  };
  EXPECT_EQ(run(2), "no error");
  EXPECT_EQ(run(-7), "no error");
  EXPECT_NE(run(3).find("position 3 is out of range"), std::string::npos) << run(3);
  EXPECT_NE(run(-1).find("position -1 is out of range for axis 1 of size 3"), std::string::npos) << run(-1);
  EXPECT_NE(error_text([&] { cross_entropy(x, in("l", "f32[n]")); }).find("`labels` are f32"), std::string::npos);
  EXPECT_NE(error_text([&] { cross_entropy(x, in("l", "i32[n, 3]")); }).find("`labels` has rank 2"), std::string::npos);
  EXPECT_NE(error_text([&] { cross_entropy(x, labels, {.label_smoothing = 2}); }).find("label smoothing is 2"),
            std::string::npos);
  EXPECT_NE(error_text([&] { cross_entropy(in("x", "f32[8, 3]"), in("l", "i32[9]")); }).find("8"), std::string::npos);
  EXPECT_EQ(body_name(cross_entropy(x, labels)), "cross_entropy");
}

TEST(NllLoss, PicksLogarithms) {
  const Value x = in("x", "f64[n, 2]");
  const Value labels = in("labels", "i32[n]");
  const Graph graph({x, labels}, {{"y", nll_loss(x, labels)}});
  EXPECT_EQ(body_name(graph.outputs()[0].value), "nll_loss");
  const Array data = Array::from<double>({2, 2}, {-1, -2, -3, -4});
  EXPECT_EQ(interpret(graph, {data, Array::from<int32_t>({2}, {1, 0})})[0].at(0), 2.5);
}

struct ElementCase {
  const char* name;
  std::function<Value(const Value&, const Value&, Reduction)> build;
  std::function<double(double, double)> expected;
  std::vector<float> x;
  std::vector<float> target;
};

std::vector<ElementCase> element_cases() {
  const std::vector<float> some{-3, -0.5, 0, 0.25, 1, 100};
  const std::vector<float> other{1, -0.25, 0, -2, 1, -100};
  const auto huber = [](double delta) {
    return [delta](double x, double t) {
      const double d = std::fabs(x - t);
      return d < delta ? d * d / 2 : delta * (d - delta / 2);
    };
  };
  return {
      {"mse_loss", [](auto& x, auto& t, auto r) { return mse_loss(x, t, r); },
       [](double x, double t) { return (x - t) * (x - t); }, some, other},
      {"l1_loss", [](auto& x, auto& t, auto r) { return l1_loss(x, t, r); },
       [](double x, double t) { return std::fabs(x - t); }, some, other},
      {"huber_loss", [](auto& x, auto& t, auto r) { return huber_loss(x, t, 0.3, r); }, huber(0.3), some, other},
      {"smooth_l1_loss", [](auto& x, auto& t, auto r) { return smooth_l1_loss(x, t, 2, r); },
       [=](double x, double t) { return huber(2)(x, t) / 2; }, some, other},
      {"smooth_l1_loss", [](auto& x, auto& t, auto r) { return smooth_l1_loss(x, t, 0, r); },
       [](double x, double t) { return std::fabs(x - t); }, some, other},
      {"binary_cross_entropy",
       [](auto& x, auto& t, auto r) { return binary_cross_entropy(x, t, r); },
       [](double p, double t) {
         return -(t * std::max(std::log(p), -100.0) + (1 - t) * std::max(std::log1p(-p), -100.0));
       },
       {0, 1, 1, 0.5, 1e-30f, 0.999f},
       {1, 1, 0, 0.25, 1, 0}},
      {"binary_cross_entropy_with_logits",
       [](auto& x, auto& t, auto r) { return binary_cross_entropy_with_logits(x, t, r); },
       [](double x, double t) {
         return t * (x > 0 ? std::log1p(std::exp(-x)) : std::log1p(std::exp(x)) - x) +
                (1 - t) * (x > 0 ? std::log1p(std::exp(-x)) + x : std::log1p(std::exp(x)));
       },
       {1e4, -1e4, 1e4, -1e4, 30, 0.5},
       {1, 1, 0, 0, 1, 0.3f}},
      {"kl_divergence",
       [](auto& x, auto& t, auto r) { return kl_divergence(x, t, r); },
       [](double q, double t) { return t == 0 ? 0 : t * (std::log(t) - q); },
       {-1, -2, -0.5, -1e4, -3, -100},
       {0.5, 0, 1, 0.25, 0.125, 1e-20f}},
      {"kl_divergence",
       [](auto& x, auto& t, auto r) { return kl_divergence(x, t, r, true); },
       [](double q, double t) { return std::exp(t) * (t - q); },
       {-1, -2, -0.5, -1e4, -3, -100},
       {-1, -3, 0, -0.5, -1e4, -2}},
      {"hinge_loss",
       [](auto& x, auto& t, auto r) { return hinge_loss(x, t, 1, r); },
       [](double x, double t) { return std::max(0.0, 1 - x * t); },
       some,
       {1, 1, -1, -1, 1, -1}},
  };
}

TEST(ElementLosses, AgainstTheDefinition) {
  for (const ElementCase& c : element_cases()) {
    const Value x = in("x", "f32[a, b]");
    const Value t = in("t", "f32[a, b]");
    std::vector<Output> outputs;
    for (const Reduction reduction : {Reduction::none, Reduction::mean, Reduction::sum}) {
      outputs.push_back({std::to_string(outputs.size()), c.build(x, t, reduction)});
      EXPECT_EQ(body_name(outputs.back().value), c.name);
    }
    const Graph graph({x, t}, outputs);
    Array expected(f64, {2, 3});
    double sum = 0;
    for (size_t i = 0; i < c.x.size(); ++i) {
      sum += expected.mutable_values<double>()[i] = c.expected(c.x[i], c.target[i]);
    }
    const auto out = interpret(graph, {Array::from<float>({2, 3}, c.x), Array::from<float>({2, 3}, c.target)});
    EXPECT_TRUE(close(out[0], expected.cast(f32), 1e-5, 1e-7)) << c.name;
    EXPECT_TRUE(close(out[1], Array::scalar(f32, sum / 6), 1e-5)) << c.name;
    EXPECT_TRUE(close(out[2], Array::scalar(f32, sum), 1e-5)) << c.name;
    const auto empty = interpret(graph, {Array(f32, {0, 3}), Array(f32, {0, 3})});
    EXPECT_TRUE(std::isnan(empty[1].at(0)));
    EXPECT_EQ(empty[2].at(0), 0);
  }
}

TEST(ElementLosses, NothingBroadcasts) {
  EXPECT_NE(
      error_text([] { mse_loss(in("x", "f32[n, 1]"), in("t", "f32[n]")); }).find("`x` has rank 2, `target` has 1"),
      std::string::npos);
  const std::string sizes = error_text([] { l1_loss(in("x", "f32[n, 1]"), in("t", "f32[n, 4]")); });
  EXPECT_NE(sizes.find("axis 1 of `x` is 1, axis 1 of `target` is 4"), std::string::npos) << sizes;
  EXPECT_NE(error_text([] { huber_loss(in("x", "f32[n]"), in("t", "f32[n]"), 0); }).find("delta is 0"),
            std::string::npos);
}

}  // namespace
}  // namespace tenon::losses_test
