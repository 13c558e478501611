// Optimisers against the update rules written out by hand, over several steps; and training of a graph.
#include "tenon/optimizers.h"

#include <cmath>
#include <functional>

#include "ir/node.h"
#include "support/arrays.h"
#include "tenon/interpreter.h"
#include "tenon/ops.h"

namespace tenon::passes::optimizers_test {
namespace {

/// The state of one number being trained, by hand.
struct Number {
  double p = 0;
  double m = 0;
  double v = 0;
};
using Rule = std::function<void(Number& x, double g, int t)>;  // t counts from 1

struct Case {
  std::string name;
  UpdateRule optimizer;
  Rule rule;

  friend void PrintTo(const Case& each, std::ostream* out) { *out << each.name; }
};

std::vector<Case> cases() {
  constexpr double lr = 0.1;
  return {
      {"plain", sgd({.learning_rate = lr}), [](Number& x, double g, int) { x.p -= 0.1 * g; }},
      {"decay", sgd({.learning_rate = lr, .weight_decay = 0.2}),
       [](Number& x, double g, int) { x.p -= 0.1 * (g + 0.2 * x.p); }},
      {"momentum", sgd({.learning_rate = lr, .momentum = 0.9}),
       [](Number& x, double g, int) {
         x.m = 0.9 * x.m + g;
         x.p -= 0.1 * x.m;
       }},
      {"dampened", sgd({.learning_rate = lr, .momentum = 0.9, .dampening = 0.3, .weight_decay = 0.05}),
       [](Number& x, double g, int t) {
         g += 0.05 * x.p;
         x.m = t == 1 ? g : 0.9 * x.m + 0.7 * g;
         x.p -= 0.1 * x.m;
       }},
      {"nesterov", sgd({.learning_rate = lr, .momentum = 0.8, .nesterov = true}),
       [](Number& x, double g, int) {
         x.m = 0.8 * x.m + g;
         x.p -= 0.1 * (g + 0.8 * x.m);
       }},
      {"adam", adam({.learning_rate = lr, .weight_decay = 0.03}),
       [](Number& x, double g, int t) {
         g += 0.03 * x.p;
         x.m = 0.9 * x.m + 0.1 * g;
         x.v = 0.999 * x.v + 0.001 * g * g;
         const double m = x.m / (1 - std::pow(0.9, t));
         const double v = x.v / (1 - std::pow(0.999, t));
         x.p -= 0.1 * m / (std::sqrt(v) + 1e-8);
       }},
      {"adamw", adamw({.learning_rate = lr, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-3, .weight_decay = 0.3}),
       [](Number& x, double g, int t) {
         x.p -= 0.1 * 0.3 * x.p;
         x.m = 0.8 * x.m + 0.2 * g;
         x.v = 0.95 * x.v + 0.05 * g * g;
         const double m = x.m / (1 - std::pow(0.8, t));
         const double v = x.v / (1 - std::pow(0.95, t));
         x.p -= 0.1 * m / (std::sqrt(v) + 1e-3);
       }},
  };
}

/// loss = sum((w * x - 1)^2) over an axis of any size.
Graph loss_graph(Dtype dtype) {
  const Value x = input("x", shape(dtype, "n"));
  const Value w = input("w", shape(dtype, "n"));
  return {{x, w}, {{"loss", reduce_sum(square(w * x - 1))}}};
}

class Optimizers : public testing::TestWithParam<Case> {};

TEST_P(Optimizers, FollowTheRuleOverSeveralSteps) {
  const Case& each = GetParam();
  struct Precision {
    Dtype dtype;
    double tolerance;
  };
  for (const auto& [dtype, tolerance] : {Precision{f64, 1e-13}, Precision{f32, 2e-5}, Precision{bf16, 0.05}}) {
    const Graph graph = training_step(loss_graph(dtype), each.optimizer, {.parameters = {"w"}});
    const size_t states = each.optimizer.states.size();
    const Dtype state_dtype = dtype == bf16 ? f32 : dtype;
    ASSERT_EQ(graph.inputs().size(), 3 + states);
    const Array x = Array::from<double>({3}, {0.5, -1, 2}).cast(dtype);
    std::vector<Number> numbers = {{.p = 1.5}, {.p = -0.25}, {.p = 1}};
    std::vector<Array> state = {Array::from<double>({3}, {1.5, -0.25, 1}).cast(dtype)};
    state.resize(1 + states, Array(state_dtype, {3}));
    state.push_back(Array::scalar(i64, 0));
    for (int t = 1; t <= 6; ++t) {
      std::vector<Array> inputs = {x};
      inputs.insert(inputs.end(), state.begin(), state.end());
      std::vector<Array> out = interpret(graph, inputs);
      state.assign(out.begin() + 1, out.end());
      for (size_t i = 0; i < numbers.size(); ++i) {
        const double xi = x.at(static_cast<int64_t>(i));
        each.rule(numbers[i], 2 * (numbers[i].p * xi - 1) * xi, t);
        EXPECT_NEAR(state[0].at(static_cast<int64_t>(i)), numbers[i].p, tolerance) << "step " << t;
        if (states >= 1) {
          EXPECT_NEAR(state[1].at(static_cast<int64_t>(i)), numbers[i].m, tolerance) << "step " << t;
        }
        if (states >= 2) {
          EXPECT_NEAR(state[2].at(static_cast<int64_t>(i)), numbers[i].v, tolerance) << "step " << t;
        }
      }
      EXPECT_EQ(state.back().at(0), t);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Optimizers, testing::ValuesIn(cases()),
                         [](const auto& instance) { return instance.param.name; });

TEST(TrainingStep, StatesTakeOverTheirInputs) {
  const Value x = input("x", shape(f32, "batch", 3));
  const Value w = input("w", shape(f32, 3, 2));
  const Value b = input("b", shape(f32, 2));
  const Value mean = input("running", shape(f32, 2));
  const Value y = matmul(x, w) + b;
  const Graph loss("net", {x, w, b, mean}, {{"loss", reduce_mean(y * y)}, {"new_running", mean * 0.9, 3}});
  const Graph graph = training_step(loss, adam(), {.parameters = {"w", "b"}, .learning_rate_input = true});
  std::vector<std::string> inputs;
  for (const Value& in : graph.inputs()) {
    inputs.push_back(in.node().as<Input>()->name);
  }
  EXPECT_EQ(inputs, (std::vector<std::string>{"x", "w", "b", "running", "w.mean", "w.variance", "b.mean", "b.variance",
                                              "step", "learning_rate"}));
  std::vector<std::string> outputs;
  for (const Output& out : graph.outputs()) {
    outputs.push_back(out.name + (out.aliases < 0 ? "" : "=" + inputs[static_cast<size_t>(out.aliases)]));
  }
  EXPECT_EQ(outputs, (std::vector<std::string>{"loss", "new_running=running", "new_w=w", "new_w.mean=w.mean",
                                               "new_w.variance=w.variance", "new_b=b", "new_b.mean=b.mean",
                                               "new_b.variance=b.variance", "next_step=step"}));
}

TEST(TrainingStep, TheLearningRateMayBeAnInput) {
  const Graph own = training_step(loss_graph(f64), sgd({.learning_rate = 0.25}), {.parameters = {"w"}});
  const Graph given =
      training_step(loss_graph(f64), sgd({.learning_rate = 9}), {.parameters = {"w"}, .learning_rate_input = true});
  const Array x = Array::from<double>({2}, {1, 2});
  const Array w = Array::from<double>({2}, {3, -1});
  const Array step = Array::scalar(i64, 0);
  EXPECT_TRUE(same(interpret(given, {x, w, step, Array::scalar(f32, 0.25)})[1], interpret(own, {x, w, step})[1]));
}

TEST(TrainingStep, TheLossGoesDownAtSizesThatVary) {
  const Value x = input("x", shape(f32, "batch", 2));
  const Value target = input("target", shape(f32, "batch"));
  const Value w = input("w", shape(f32, 2));
  const Graph loss({x, target, w}, {{"loss", reduce_mean(square(matmul(x, w) - target))}});
  const Graph graph = training_step(loss, adamw({.learning_rate = 0.05, .weight_decay = 0}), {.parameters = {"w"}});
  std::mt19937_64 rng(3);
  std::vector<Array> state = {Array(f32, {2}), Array(f32, {2}), Array(f32, {2}), Array::scalar(i64, 0)};
  double last = 0;
  for (int t = 0; t < 300; ++t) {
    const int64_t batch = 1 + t % 7;
    const Array data = random_array(f32, {batch, 2}, rng, -1, 1);
    Array wanted(f32, {batch});
    for (int64_t i = 0; i < batch; ++i) {
      wanted.mutable_values<float>()[static_cast<size_t>(i)] =
          static_cast<float>(3 * data.at(2 * i) - 0.5 * data.at(2 * i + 1));
    }
    std::vector<Array> inputs = {data, wanted};
    inputs.insert(inputs.end(), state.begin(), state.end());
    const std::vector<Array> out = interpret(graph, inputs);
    last = out[0].at(0);
    state.assign(out.begin() + 1, out.end());
  }
  EXPECT_LT(last, 1e-4);
  EXPECT_NEAR(state[0].at(0), 3, 0.02);
  EXPECT_NEAR(state[0].at(1), -0.5, 0.02);
}

TEST(TrainingStep, ErrorsNameWhatIsWrong) {
  EXPECT_EQ(error_text([] { sgd({.nesterov = true}); }),
            "sgd: Nesterov needs momentum and no dampening; they are 0 and 0");
  EXPECT_EQ(error_text([] { adam({.beta1 = 1}); }), "adam: beta1 is 1");
  EXPECT_EQ(error_text([] { adamw({.learning_rate = -1}); }), "adamw: learning_rate is -1");
  EXPECT_EQ(error_text([] { training_step(loss_graph(f32), sgd(), {.parameters = {"v"}}); }),
            "training_step: graph `main` has no input `v`");
  EXPECT_EQ(error_text([] { training_step(loss_graph(f32), sgd(), {.parameters = {}}); }),
            "training_step: no parameters are named");
}

TEST(Optimizers, AdamwDecaysUnlessToldNot) { EXPECT_EQ(AdamWOptions{.learning_rate = 0.1}.weight_decay, 1e-2); }

}  // namespace
}  // namespace tenon::passes::optimizers_test
