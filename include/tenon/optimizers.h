// Optimisers as graph builders: one step from parameters, gradients and states to new parameters and states.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tenon/graph.h"

namespace tenon {

/// One parameter at one step. States have the parameter's shape, in f32 for half types, and start as zeros.
struct OptimizerStep {
  Value parameter;
  Value gradient;
  std::vector<Value> states;
  Value count;               // i64 scalar: the steps made before this one
  Value learning_rate = {};  // float scalar; empty: the optimiser's own
};

struct OptimizerResult {
  Value parameter;
  std::vector<Value> states;
};

struct UpdateRule {
  std::string name;
  std::vector<std::string> states;  // what each is called, in the order of OptimizerStep::states
  std::function<OptimizerResult(const OptimizerStep&)> update;
};

struct SgdOptions {
  double learning_rate = 1e-3;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;  // needs momentum and no dampening
};
/// g = gradient + weight_decay * p;  m = momentum * m + (1 - dampening) * g, and g itself in the first step;
/// p = p - learning_rate * (m, or g + momentum * m for Nesterov). Without momentum there is no state.
UpdateRule sgd(const SgdOptions& options = {});

struct AdamOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
};
/// g = gradient + weight_decay * p;  m = beta1 * m + (1 - beta1) * g;  v = beta2 * v + (1 - beta2) * g * g;
/// p = p - learning_rate * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon), t counting from 1.
UpdateRule adam(const AdamOptions& options = {});
struct AdamWOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 1e-2;
};
/// Adam with the decay beside it: p = p * (1 - learning_rate * weight_decay) first, and g is the gradient alone.
UpdateRule adamw(const AdamWOptions& options = {});

struct TrainingOptions {
  std::vector<std::string> parameters;  // names of the inputs to be trained
  std::string loss = {};                // name of the output to be made small, a float scalar; empty: the first
  bool learning_rate_input = false;     // a last input `learning_rate`: f32[] takes the place of the optimiser's own
};

/// One step of training.
///   before: in data..., w  out loss
///   after:  in data..., w, w.momentum..., step: i64[]  out loss, new_w (takes over w), new_w.momentum..., next_step
/// Further outputs of the graph stay; those that take over inputs (running statistics) still do.
Graph training_step(const Graph& loss, const UpdateRule& optimizer, const TrainingOptions& options);

}  // namespace tenon
