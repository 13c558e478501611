#include "tenon/optimizers.h"

#include <algorithm>

#include "base/fail.h"
#include "ir/node.h"
#include "passes/autodiff/autodiff.h"
#include "tenon/autodiff.h"
#include "tenon/ops.h"

namespace tenon {
namespace {

using passes::FreshNames;
using passes::name_of;

void require(bool holds, std::string_view optimizer, std::string_view what, double value) {
  if (!holds) {
    fail("{}: {} is {}", optimizer, what, value);
  }
}

/// A step's numbers in the dtype that the update is computed in.
struct Numbers {
  explicit Numbers(const OptimizerStep& step, double own_rate)
      : dtype(compute_dtype(step.parameter.dtype())),
        parameter(cast(step.parameter, dtype)),
        gradient(cast(step.gradient, dtype)),
        rate(step.learning_rate ? cast(step.learning_rate, Dtype::f64) : scalar(Dtype::f64, own_rate)) {}

  /// A scalar that was computed in f64, where 1 - beta^t keeps its digits.
  Value narrow(const Value& number) const { return cast(number, dtype); }

  Dtype dtype;
  Value parameter;
  Value gradient;
  Value rate;  // f64 scalar
};

Value decayed(const Value& gradient, const Value& parameter, double weight_decay) {
  return weight_decay == 0 ? gradient : gradient + parameter * weight_decay;
}

/// a * x + b * y, leaving out factors of 1.
Value blend(double a, const Value& x, double b, const Value& y) { return x * a + (b == 1 ? y : y * b); }

OptimizerResult sgd_update(const SgdOptions& options, const OptimizerStep& step) {
  const Numbers now(step, options.learning_rate);
  Value direction = decayed(now.gradient, now.parameter, options.weight_decay);
  std::vector<Value> states;
  if (options.momentum != 0) {
    Value momentum = blend(options.momentum, step.states.at(0), 1 - options.dampening, direction);
    if (options.dampening != 0) {
      const Value first = broadcast(eq(step.count, 0), momentum.shape().axes(), {});
      momentum = select(first, direction, momentum);
    }
    states.push_back(momentum);
    direction = options.nesterov ? direction + momentum * options.momentum : momentum;
  }
  const Value next = now.parameter - direction * now.narrow(now.rate);
  return {cast(next, step.parameter.dtype()), states};
}

OptimizerResult adam_update(const AdamOptions& options, bool decay_apart, const OptimizerStep& step) {
  const Numbers now(step, options.learning_rate);
  const double decay = options.weight_decay;
  const Value g = decay_apart ? now.gradient : decayed(now.gradient, now.parameter, decay);
  const Value mean = blend(options.beta1, step.states.at(0), 1 - options.beta1, g);
  const Value variance = blend(options.beta2, step.states.at(1), 1 - options.beta2, g * g);
  const Value t = cast(step.count + 1, Dtype::f64);
  const Value mean_bias = 1 - pow(scalar(Dtype::f64, options.beta1), t);
  const Value variance_bias = 1 - pow(scalar(Dtype::f64, options.beta2), t);
  const Value scale = sqrt(variance) / now.narrow(sqrt(variance_bias)) + options.epsilon;
  const Value shrunk = decay_apart && decay != 0 ? now.parameter * now.narrow(1 - now.rate * decay) : now.parameter;
  const Value next = shrunk - mean / scale * now.narrow(now.rate / mean_bias);
  return {cast(next, step.parameter.dtype()), {mean, variance}};
}

UpdateRule make_adam(std::string name, const AdamOptions& options, bool decay_apart) {
  require(options.learning_rate >= 0, name, "learning_rate", options.learning_rate);
  require(options.beta1 >= 0 && options.beta1 < 1, name, "beta1", options.beta1);
  require(options.beta2 >= 0 && options.beta2 < 1, name, "beta2", options.beta2);
  require(options.epsilon >= 0, name, "epsilon", options.epsilon);
  require(options.weight_decay >= 0, name, "weight_decay", options.weight_decay);
  return {std::move(name), {"mean", "variance"}, [options, decay_apart](const OptimizerStep& step) {
            return adam_update(options, decay_apart, step);
          }};
}

size_t find_input(const Graph& graph, const std::string& name) {
  const auto at = std::ranges::find(graph.inputs(), name, name_of);
  if (at == graph.inputs().end()) {
    fail("training_step: graph `{}` has no input `{}`", graph.name(), name);
  }
  return static_cast<size_t>(at - graph.inputs().begin());
}

}  // namespace

UpdateRule sgd(const SgdOptions& options) {
  require(options.learning_rate >= 0, "sgd", "learning_rate", options.learning_rate);
  require(options.momentum >= 0, "sgd", "momentum", options.momentum);
  require(options.weight_decay >= 0, "sgd", "weight_decay", options.weight_decay);
  if (options.nesterov && (options.momentum <= 0 || options.dampening != 0)) {
    fail("sgd: Nesterov needs momentum and no dampening; they are {} and {}", options.momentum, options.dampening);
  }
  const std::vector<std::string> states =
      options.momentum == 0 ? std::vector<std::string>{} : std::vector<std::string>{"momentum"};
  return {"sgd", states, [options](const OptimizerStep& step) { return sgd_update(options, step); }};
}

UpdateRule adam(const AdamOptions& options) { return make_adam("adam", options, false); }
UpdateRule adamw(const AdamWOptions& options) {
  return make_adam("adamw",
                   {.learning_rate = options.learning_rate,
                    .beta1 = options.beta1,
                    .beta2 = options.beta2,
                    .epsilon = options.epsilon,
                    .weight_decay = options.weight_decay},
                   true);
}

Graph training_step(const Graph& loss, const UpdateRule& optimizer, const TrainingOptions& options) {
  if (options.parameters.empty()) {
    fail("training_step: no parameters are named");
  }
  std::ranges::for_each(options.parameters, [&](const std::string& name) { find_input(loss, name); });
  const Graph with_gradients = differentiate(loss, {.output = options.loss, .inputs = options.parameters});
  const size_t kept = loss.outputs().size();
  FreshNames names;
  FreshNames output_names;
  std::vector<Value> inputs = loss.inputs();
  std::vector<Output> outputs = loss.outputs();
  std::ranges::for_each(inputs, [&](const Value& in) { names.take(name_of(in)); });
  std::ranges::for_each(outputs, [&](const Output& out) { output_names.take(out.name); });
  const auto add_input = [&](const std::string& name, const Shape& shape) {
    inputs.push_back(input(names.make(name), shape));
    return inputs.back();
  };
  const auto take_over = [&](const std::string& name, const Value& value, size_t in) {
    outputs.push_back({.name = output_names.make(name), .value = value, .aliases = static_cast<int>(in)});
  };

  std::vector<OptimizerStep> steps;
  std::vector<size_t> first_state;
  for (size_t i = 0; i < options.parameters.size(); ++i) {
    const Value& parameter = loss.inputs()[find_input(loss, options.parameters[i])];
    OptimizerStep step{
        .parameter = parameter, .gradient = with_gradients.outputs()[kept + i].value, .states = {}, .count = {}};
    first_state.push_back(inputs.size());
    for (const std::string& state : optimizer.states) {
      const Dtype dtype = compute_dtype(parameter.dtype());
      step.states.push_back(add_input(name_of(parameter) + "." + state, parameter.shape().with_dtype(dtype)));
    }
    steps.push_back(step);
  }
  const Value count = add_input("step", Shape(Dtype::i64, {}));
  const size_t count_place = inputs.size() - 1;
  const Value rate = options.learning_rate_input ? add_input("learning_rate", Shape(Dtype::f32, {})) : Value();

  for (size_t i = 0; i < steps.size(); ++i) {
    steps[i].count = count;
    steps[i].learning_rate = rate;
    const OptimizerResult result = optimizer.update(steps[i]);
    const std::string& name = options.parameters[i];
    take_over("new_" + name, result.parameter, find_input(loss, name));
    for (size_t k = 0; k < result.states.size(); ++k) {
      take_over("new_" + name_of(steps[i].states[k]), result.states[k], first_state[i] + k);
    }
  }
  take_over("next_step", count + 1, count_place);
  return {loss.name(), std::move(inputs), std::move(outputs), loss.relations()};
}

}  // namespace tenon
