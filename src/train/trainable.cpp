#include "train/trainable.h"

#include <fnmatch.h>

#include <algorithm>
#include <ranges>
#include <unordered_set>

#include "base/fail.h"
#include "ir/node.h"

namespace tenon::train {
namespace {

/// Inputs that `y` is made from through floats alone, as gradients flow.
std::unordered_set<Value> reached_inputs(const Value& y) {
  std::unordered_set<Value> seen{y};
  std::unordered_set<Value> inputs;
  std::vector<Value> open{y};
  while (!open.empty()) {
    const Value value = std::move(open.back());
    open.pop_back();
    if (value.node().as<Input>() != nullptr) {
      inputs.insert(value);
    }
    for (const Value& operand : value.node().inputs) {
      if (is_float(operand.dtype()) && seen.insert(operand).second) {
        open.push_back(operand);
      }
    }
  }
  return inputs;
}

}  // namespace

Trainable trainable(const ModelEntry& entry) {
  Model inference = entry.build();
  std::vector<Array> values = initial_values(inference);
  return {.training = entry.build_training != nullptr ? entry.build_training() : inference,
          .inference = std::move(inference),
          .values = std::move(values)};
}

Trainable trainable(const Graph& graph, const std::vector<Weight>& weights) {
  TENON_CHECK(weights.size() <= graph.inputs().size(), "more weights than inputs");
  Model model{.graph = graph, .data_inputs = graph.inputs().size() - weights.size(), .parameters = {}};
  std::vector<Array> values;
  for (size_t i = 0; i < weights.size(); ++i) {
    model.parameters.push_back({.name = weights[i].name,
                                .shape = graph.inputs()[model.data_inputs + i].shape(),
                                .trainable = weights[i].trainable});
    values.push_back(weights[i].value);
  }
  return {.training = model, .inference = model, .values = std::move(values)};
}

void freeze(Trainable& model, const Objective& objective, const std::vector<std::string>& patterns) {
  std::vector<Parameter>& parameters = model.training.parameters;
  const std::unordered_set<Value> reached = reached_inputs(model.training.graph.outputs()[objective.output].value);
  for (size_t i = 0; i < parameters.size(); ++i) {
    parameters[i].trainable &= reached.contains(model.training.graph.inputs()[model.training.data_inputs + i]);
  }
  for (const std::string& pattern : patterns) {
    bool found = false;
    for (Parameter& parameter : parameters) {
      if (fnmatch(pattern.c_str(), parameter.name.c_str(), 0) == 0) {
        found = true;
        parameter.trainable = false;
      }
    }
    if (!found) {
      fail("`--freeze {}` matches no parameter; there is: {}{}", pattern,
           fmt::join(parameters | std::views::take(8) | std::views::transform(&Parameter::name), ", "),
           parameters.size() > 8 ? ", ..." : "");
    }
  }
  if (std::ranges::none_of(parameters, &Parameter::trainable)) {
    fail("there is nothing to train in `{}`: {}", model.training.graph.name(),
         parameters.empty() ? "it has no parameters" : "all of its parameters are frozen");
  }
}

}  // namespace tenon::train
