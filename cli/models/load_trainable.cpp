#include "cli/models/load_trainable.h"

#include <algorithm>
#include <filesystem>

#include "base/fail.h"
#include "ir/node.h"
#include "tenon/program_file.h"

namespace tenon::cli {
namespace {

bool is_onnx(const std::string& model) { return std::filesystem::path(model).extension() == ".onnx"; }

/// The graph with its parameters behind its data, as a Model has them.
train::Trainable trainable_text(const Graph& graph) {
  const auto is_state = [&](int i) {
    return std::ranges::any_of(graph.outputs(), [&](const Output& output) { return output.aliases == i; });
  };
  std::vector<Value> data;
  std::vector<Value> trained;
  std::vector<train::Weight> weights;
  std::vector<int> places;  // of the inputs; -1 for what is trained, which no output takes over
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const Value& each = graph.inputs()[i];
    if (is_float(each.dtype()) && each.shape().is_concrete() && !is_state(static_cast<int>(i))) {
      places.push_back(-1);
      trained.push_back(each);
      weights.push_back({.name = each.node().as<Input>()->name, .value = Array(each.dtype(), each.shape().dims())});
    } else {
      places.push_back(static_cast<int>(data.size()));
      data.push_back(each);
    }
  }
  if (weights.empty()) {
    fail("there is nothing to train in `{}`: no float input has all of its sizes known", graph.name());
  }
  std::vector<Output> outputs = graph.outputs();
  for (Output& output : outputs) {
    output.aliases = output.aliases < 0 ? -1 : places[static_cast<size_t>(output.aliases)];
  }
  data.insert(data.end(), trained.begin(), trained.end());
  return train::trainable(Graph(graph.name(), data, outputs, graph.relations()), weights);
}

}  // namespace

LoadedTrainable load_trainable(const std::string& model, const LoadGraphOptions& options) {
  if (!is_model_file(model)) {
    const ModelEntry& entry = built_in_model(model);
    return {.model = train::trainable(entry), .typical = Bindings::parse(entry.typical)};
  }
  if (is_program_file(model)) {
    fail("`{}` cannot be trained: it is a program that was built, and has no graph; train its model", model);
  }
  if (!is_onnx(model)) {
    fail("`{}` cannot be trained: a built-in model or an .onnx file has weights, graph text has none", model);
  }
  LoadGraphOptions with_weights = options;
  std::vector<train::Weight> weights;
  with_weights.trained = &weights;
  const GraphModel read = load_model(model, with_weights);
  return {.model = train::trainable(read.graph, weights), .typical = read.typical, .decided = read.decided};
}

namespace {

/// What the optimiser keeps of each parameter (NAME.mean, ...), and the number of the step: 0, but variances, which are
/// 1: by those of a first step gradients that are nothing but rounding become steps as large as others.
void add_first_states(GraphModel& step, const std::vector<std::string>& parameters) {
  for (const Value& value : step.graph.inputs()) {
    const std::string& name = value.node().as<Input>()->name;
    const bool is_state = name == "step" || std::ranges::any_of(parameters, [&](const std::string& parameter) {
                            return name.size() > parameter.size() && name.starts_with(parameter + ".");
                          });
    if (is_state && !step.values.contains(name) && value.shape().is_concrete()) {
      const double first = name.ends_with(".variance") ? 1 : 0;
      step.values.emplace(name, Array::full(value.dtype(), value.shape().dims(), first));
    }
  }
}

}  // namespace

GraphModel load_training_step(const std::string& model, const train::ObjectiveOptions& objective,
                              const std::string& optimizer) {
  const bool is_text = is_model_file(model) && !is_onnx(model);
  LoadedTrainable loaded = is_text ? LoadedTrainable{.model = trainable_text(load_model(model).graph), .typical = {}}
                                   : load_trainable(model, {});
  const Model& trained = loaded.model.training;
  const Value& first = trained.graph.outputs().at(0).value;
  const bool is_loss = is_float(first.dtype()) && first.rank() == 0 && objective.loss.empty();
  train::Objective chosen;
  if (!is_loss) {
    chosen = train::make_objective(trained, objective);
  }
  train::freeze(loaded.model, chosen, {});
  TrainingOptions options;
  for (const Parameter& parameter : trained.parameters) {
    if (parameter.trainable) {
      options.parameters.push_back(parameter.name);
    }
  }
  const train::OptimizerKind& kind = train::find_optimizer(optimizer);
  const Graph graph =
      training_step(is_loss ? trained.graph : train::loss_graph(trained, chosen), kind.make(kind.rate), options);
  GraphModel step{.graph = with_name(graph, title_of(model)), .typical = loaded.typical, .decided = loaded.decided};
  for (size_t i = 0; i < loaded.model.values.size(); ++i) {
    step.values.emplace(trained.parameters[i].name, loaded.model.values[i]);
  }
  add_first_states(step, options.parameters);
  return step;
}

}  // namespace tenon::cli
