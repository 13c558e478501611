// Parts of a plan as ONNX models with a manifest, so that any runtime can run them.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/fail.h"
#include "base/json.h"
#include "files.h"
#include "ir/node.h"
#include "partition_run.h"

#ifdef TENON_WITH_ONNX
#include "tenon/onnx_export.h"
#endif

namespace tenon::cli {
namespace {

#ifdef TENON_WITH_ONNX
void write_part(const Graph& graph, const std::string& path, const Bindings& usual) {
  Bindings own;
  for (const std::string& name : axis_names(graph)) {
    if (const auto size = usual.find(name)) {
      own.set(name, *size);
    }
  }
  export_onnx(graph, path, {.external_data = false, .usual = own});
}
#else
void write_part(const Graph&, const std::string& path, const Bindings&) {
  fail("`{}`: this build writes no ONNX models (it was configured with TENON_ONNX=OFF)", path);
}
#endif

std::string ports(const Graph& graph, bool inputs) {
  std::vector<std::string> rows;
  const auto add = [&](const std::string& name, const Shape& shape) {
    rows.push_back(fmt::format(R"({{"name": {}, "shape": {}}})", json_quoted(name), json_quoted(shape.to_string())));
  };
  if (inputs) {
    for (const Value& value : graph.inputs()) {
      add(value.node().as<Input>()->name, value.shape());
    }
  } else {
    for (const Output& output : graph.outputs()) {
      add(output.name, output.value.shape());
    }
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
  text += fmt::format("}},\n  \"inputs\": {},\n  \"outputs\": {},\n  \"parts\": [\n", ports(model.work.graph, true),
                      ports(model.work.graph, false));
  for (size_t i = 0; i < plan.parts.size(); ++i) {
    const Graph graph = part_graph(model.work, plan, i);
    const std::string file = fmt::format("part{:03}.onnx", i + 1);
    write_part(graph, (std::filesystem::path(folder) / file).string(), plan.bindings);
    text += fmt::format("    {{\"file\": \"{}\", \"inputs\": {}, \"outputs\": {}}}{}\n", file, ports(graph, true),
                        ports(graph, false), i + 1 < plan.parts.size() ? "," : "");
  }
  write_text((std::filesystem::path(folder) / "manifest.json").string(), text + "  ]\n}\n");
}

}  // namespace tenon::cli
