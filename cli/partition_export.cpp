// Parts of a plan as ONNX models with a manifest, so that any runtime can run them.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/fail.h"
#include "base/json.h"
#include "files.h"
#include "ir/node.h"
#include "partition_run.h"
#include "tenon/run_report.h"

#ifdef TENON_WITH_ONNX
#include "tenon/onnx.h"
#include "tenon/onnx_export.h"
#endif

namespace tenon::cli {
namespace {

std::vector<Port> inputs_of(const Graph& graph) {
  std::vector<Port> ports;
  for (const Value& value : graph.inputs()) {
    ports.push_back({.name = value.node().as<Input>()->name, .shape = value.shape()});
  }
  return ports;
}

std::vector<Port> outputs_of(const Graph& graph) {
  std::vector<Port> ports;
  for (const Output& output : graph.outputs()) {
    ports.push_back({.name = output.name, .shape = output.value.shape()});
  }
  return ports;
}

#ifdef TENON_WITH_ONNX
/// Returns the inputs of the file: those of the graph, and sizes that none of them tells.
std::vector<Port> write_part(const Graph& graph, const std::string& path, const Bindings& usual) {
  Bindings own;
  for (const std::string& name : axis_names(graph)) {
    if (const auto size = usual.find(name)) {
      own.set(name, *size);
    }
  }
  export_onnx(graph, path, {.external_data = false, .usual = own});
  std::vector<Port> inputs = inputs_of(graph);
  const Graph written = import_onnx(path);
  for (Port& port : inputs_of(written)) {
    if (std::ranges::find(inputs, port.name, &Port::name) == inputs.end()) {
      inputs.push_back(std::move(port));
    }
  }
  return inputs;
}
#else
std::vector<Port> write_part(const Graph&, const std::string& path, const Bindings&) {
  fail("`{}`: this build writes no ONNX models (it was configured with TENON_ONNX=OFF)", path);
}
#endif

std::string ports_json(const std::vector<Port>& ports) {
  std::vector<std::string> rows;
  for (const Port& port : ports) {
    rows.push_back(
        fmt::format(R"({{"name": {}, "shape": {}}})", json_quoted(port.name), json_quoted(port.shape.to_string())));
  }
  return fmt::format("[{}]", fmt::join(rows, ", "));
}

}  // namespace

void export_parts(const PartitionModel& model, const partition::Plan& plan, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    fail("cannot make the folder `{}`: {}", folder, error.message());
  }
  std::string text = fmt::format("{{\n  \"model\": {},\n  \"sizes\": {{", json_quoted(plan.model));
  std::string separator;
  for (const auto& [name, size] : plan.bindings) {
    text += fmt::format("{}{}: {}", separator, json_quoted(name), size);
    separator = ", ";
  }
  text += fmt::format("}},\n  \"inputs\": {},\n  \"outputs\": {},\n  \"parts\": [\n",
                      ports_json(inputs_of(model.work.graph)), ports_json(outputs_of(model.work.graph)));
  for (size_t i = 0; i < plan.parts.size(); ++i) {
    const Graph graph = part_graph(model.work, plan, i);
    const std::string file = fmt::format("part{:03}.onnx", i + 1);
    const std::vector<Port> inputs = write_part(graph, (std::filesystem::path(folder) / file).string(), plan.bindings);
    text += fmt::format("    {{\"file\": \"{}\", \"inputs\": {}, \"outputs\": {}}}{}\n", file, ports_json(inputs),
                        ports_json(outputs_of(graph)), i + 1 < plan.parts.size() ? "," : "");
  }
  write_text((std::filesystem::path(folder) / "manifest.json").string(), text + "  ]\n}\n");
}

}  // namespace tenon::cli
