// `tenon models`: what is built in.
#include <fmt/format.h>

#include <cstdio>

#include "cli/print/json.h"
#include "cli/verb.h"
#include "ir/node.h"
#include "tenon/tenon.h"

namespace tenon::cli {
namespace {

Json port(const std::string& name, const Shape& shape) {
  return Json::object().set("name", name).set("shape", shape.to_string());
}

Json describe(const ModelEntry& entry, const Model& model, int64_t macs) {
  Json inputs = Json::array();
  for (size_t i = 0; i < model.data_inputs; ++i) {
    const Value& value = model.graph.inputs()[i];
    inputs.push(port(value.node().as<Input>()->name, value.shape()));
  }
  Json outputs = Json::array();
  for (const Output& output : model.graph.outputs()) {
    outputs.push(port(output.name, output.value.shape()));
  }
  return Json::object()
      .set("name", entry.name)
      .set("doc", entry.doc)
      .set("inputs", inputs)
      .set("outputs", outputs)
      .set("parameters", model.parameter_count())
      .set("macs", macs)
      .set("at", entry.typical);
}

void print_model(const ModelEntry& entry, const Model& model, int64_t macs) {
  fmt::print("{:<18}{}\n", entry.name, entry.doc);
  for (size_t i = 0; i < model.data_inputs; ++i) {
    const Value& value = model.graph.inputs()[i];
    fmt::print("  {:<16}{} {}\n", i == 0 ? "in" : "", value.node().as<Input>()->name, value.shape().to_string());
  }
  for (size_t i = 0; i < model.graph.outputs().size(); ++i) {
    const Output& out = model.graph.outputs()[i];
    fmt::print("  {:<16}{} {}\n", i == 0 ? "out" : "", out.name, out.value.shape().to_string());
  }
  fmt::print("  {:<16}{}\n", "parameters", model.parameter_count());
  fmt::print("  {:<16}{:.3f} G at {}\n\n", "MACs", static_cast<double>(macs) / 1e9, entry.typical);
}

int run_models(const Arguments& arguments) {
  Json list = Json::array();
  for (const ModelEntry& entry : model_table()) {
    const Model model = entry.build();
    const int64_t macs = evaluate(count_macs(model.graph), Bindings::parse(entry.typical));
    if (arguments.has("--json")) {
      list.push(describe(entry, model, macs));
    } else {
      print_model(entry, model, macs);
    }
  }
  if (arguments.has("--json")) {
    Json::object().set("models", list).print();
  }
  return 0;
}

}  // namespace

const Verb kModelsVerb{.name = "models",
                       .words = "",
                       .doc = "list the built-in models: inputs, outputs, parameters, multiply-accumulates",
                       .about = "Each name is a MODEL for the other verbs. Weights are random and the same every time.",
                       .run = run_models};

}  // namespace tenon::cli
