#include "train/objective.h"

#include <algorithm>

#include "base/fail.h"
#include "ir/node.h"
#include "ir/unify_names.h"
#include "passes/autodiff/autodiff.h"
#include "tenon/losses.h"
#include "tenon/ops.h"

namespace tenon::train {
namespace {

constexpr LossKind kLosses[] = {
    {"cross_entropy", "integer labels against logits", true,
     [](const Value& y, const Value& t, int axis) { return cross_entropy(y, t, {.axis = axis, .ignore_index = {}}); }},
    {"nll", "integer labels against logarithms of probabilities", true,
     [](const Value& y, const Value& t, int axis) { return nll_loss(y, t, {.axis = axis, .ignore_index = {}}); }},
    {"mse", "mean of squared differences", false, [](const Value& y, const Value& t, int) { return mse_loss(y, t); }},
    {"l1", "mean of absolute differences", false, [](const Value& y, const Value& t, int) { return l1_loss(y, t); }},
    {"huber", "squared where small, absolute where large", false,
     [](const Value& y, const Value& t, int) { return huber_loss(y, t); }},
    {"bce", "probabilities against targets in [0, 1]", false,
     [](const Value& y, const Value& t, int) { return binary_cross_entropy(y, t); }},
    {"bce_logits", "logits against targets in [0, 1]", false,
     [](const Value& y, const Value& t, int) { return binary_cross_entropy_with_logits(y, t); }},
    {"kl", "logarithms of probabilities against probabilities", false,
     [](const Value& y, const Value& t, int) { return kl_divergence(y, t); }},
    {"hinge", "scores against targets 1 and -1", false,
     [](const Value& y, const Value& t, int) { return hinge_loss(y, t); }},
};

size_t find_output(const Graph& graph, const std::string& wanted) {
  std::vector<std::string> names;
  for (const Output& output : graph.outputs()) {
    names.push_back(output.name);
  }
  const auto at = std::ranges::find(names, wanted);
  if (at == names.end()) {
    fail("`{}` has no output `{}`; there is: {}", graph.name(), wanted, fmt::join(names, ", "));
  }
  return static_cast<size_t>(at - names.begin());
}

/// The model's inputs with the target behind the data.
struct WithTarget {
  std::vector<Value> inputs;
  Value target;
};

WithTarget with_target(const Model& model, const Objective& objective) {
  passes::FreshNames names;
  for (const Value& each : model.graph.inputs()) {
    names.take(passes::name_of(each));
  }
  WithTarget result{.inputs = model.graph.inputs(), .target = input(names.make("target"), objective.target)};
  result.inputs.insert(result.inputs.begin() + static_cast<std::ptrdiff_t>(model.data_inputs), result.target);
  return result;
}

Value loss_of(const Model& model, const Objective& objective, const Value& target) {
  const UnifyNames lenient;  // a model from a file may have two names for one size
  return objective.kind->build(model.graph.outputs()[objective.output].value, target, objective.axis);
}

}  // namespace

std::span<const LossKind> loss_table() { return kLosses; }

const LossKind& find_loss(std::string_view name) {
  std::vector<std::string_view> names;
  for (const LossKind& kind : kLosses) {
    if (kind.name == name) {
      return kind;
    }
    names.push_back(kind.name);
  }
  fail("there is no loss `{}`; there is: {}", name, fmt::join(names, ", "));
}

Objective make_objective(const Model& model, const ObjectiveOptions& options) {
  Objective result;
  result.output = options.output.empty() ? 0 : find_output(model.graph, options.output);
  const Output& output = model.graph.outputs().at(result.output);
  const Shape& shape = output.value.shape();
  result.kind = &find_loss(!options.loss.empty() ? options.loss : output.name == "logits" ? "cross_entropy" : "mse");
  if (!is_float(shape.dtype())) {
    fail("`{}` cannot be trained by its output `{}`, which is {}", model.graph.name(), output.name, shape.to_string());
  }
  result.target = shape;
  if (!result.kind->labels) {
    return result;
  }
  if (shape.rank() < 2) {
    fail("{} takes an axis of examples and one of classes, and the output `{}` is {}", result.kind->name, output.name,
         shape.to_string());
  }
  result.axis = shape.normalize_axis(static_cast<int>(options.axis.value_or(shape.rank() >= 4 ? 1 : -1)));
  result.classes = shape.extent(result.axis).constant().value_or(0);
  if (result.classes == 0) {
    fail("{} takes a known number of classes, and axis {} of the output `{}` is {}", result.kind->name, result.axis,
         output.name, shape.axis(result.axis).to_string());
  }
  std::vector<Axis> axes = shape.axes();
  axes.erase(axes.begin() + result.axis);
  result.target = Shape(Dtype::i64, std::move(axes));
  return result;
}

Graph loss_graph(const Model& model, const Objective& objective) {
  const auto [inputs, target] = with_target(model, objective);
  std::vector<Output> outputs{{"loss", loss_of(model, objective, target)}};
  for (const Output& output : model.graph.outputs()) {
    if (output.aliases >= static_cast<int>(model.data_inputs)) {
      outputs.push_back({output.name, output.value, output.aliases + 1});  // the target stands before it
    }
  }
  return {model.graph.name(), inputs, std::move(outputs), model.graph.relations()};
}

Graph score_graph(const Model& model, const Objective& objective) {
  const auto [inputs, target] = with_target(model, objective);
  std::vector<Output> outputs{{"loss", loss_of(model, objective, target)}};
  if (objective.kind->labels) {
    const UnifyNames lenient;
    const Value hit = eq(argmax(model.graph.outputs()[objective.output].value, objective.axis), target);
    outputs.push_back({"right", reduce_sum(cast(hit, Dtype::i64))});
  }
  return {model.graph.name(), inputs, std::move(outputs), model.graph.relations()};
}

}  // namespace tenon::train
