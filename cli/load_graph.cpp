#include "load_graph.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/fail.h"
#include "ir/node.h"
#include "tenon/tenon.h"
#include "text/suggest.h"

namespace tenon {
namespace {

struct Trainable {
  Graph graph;
  std::vector<std::string> parameters;
};

Trainable read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) {
    fail("cannot read the file `{}`", path);
  }
  Trainable result;
  try {
    result.graph = parse_graph(text.str());
  } catch (const Error& error) {
    fail("{}:{}", path, error.what());
  }
  for (const Value& value : result.graph.inputs()) {
    if (is_float(value.dtype()) && std::ranges::all_of(value.shape().axes(), &Axis::is_static)) {
      result.parameters.push_back(value.node().as<Input>()->name);
    }
  }
  return result;
}

Trainable build_model(const std::string& name) {
  std::vector<std::string> names;
  for (const ModelEntry& entry : model_table()) {
    if (entry.name == name) {
      const Model model = entry.build();
      Trainable result{.graph = model.graph, .parameters = {}};
      for (const Parameter& parameter : model.parameters) {
        if (parameter.trainable) {
          result.parameters.push_back(parameter.name);
        }
      }
      return result;
    }
    names.emplace_back(entry.name);
  }
  fail("there is no model called `{}`{}\n  built-in models: {}\n  a file of graph text has a `.` or a `/` in its name",
       name, text::suggestion(name, names), fmt::join(names, ", "));
}

Graph with_training(const Trainable& model) {
  if (model.parameters.empty()) {
    fail("there is nothing to train in `{}`: no float input has all of its sizes known", model.graph.name());
  }
  std::vector<Output> outputs = model.graph.outputs();
  if (outputs.empty() || !is_float(outputs[0].value.dtype())) {
    fail("`{}` cannot be trained: its first output is not a float", model.graph.name());
  }
  if (outputs[0].value.rank() > 0) {
    const std::string name = outputs[0].name == "loss" ? "loss_of_loss" : "loss";
    outputs.insert(outputs.begin(), {.name = name, .value = reduce_mean(square(outputs[0].value))});
  }
  const Graph loss(model.graph.name(), model.graph.inputs(), outputs, model.graph.relations());
  return training_step(loss, adam(), {.parameters = model.parameters});
}

}  // namespace

Graph load_graph(const std::string& model, bool train) {
  const bool is_file = model.find_first_of("./") != std::string::npos;
  const Trainable loaded = is_file ? read_file(model) : build_model(model);
  return train ? with_training(loaded) : loaded.graph;
}

}  // namespace tenon
