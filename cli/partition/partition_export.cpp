// Parts of a plan as ONNX models with a manifest, so that any runtime can run them.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/fail.h"
#include "base/json.h"
#include "cli/models/files.h"
#include "cli/partition/partition_run.h"
#include "ir/node.h"
#include "partition/plan/part_nodes.h"
#include "tenon/run_report.h"

#ifdef TENON_WITH_ONNX
#include "tenon/onnx.h"
#include "tenon/onnx_export.h"
#endif

namespace tenon::cli {
namespace {

constexpr std::string_view kManifest = "manifest.json";

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
  for (const OnnxPort& port : onnx_signature(path).inputs) {
    if (std::ranges::find(inputs, port.name, &Port::name) == inputs.end()) {
      inputs.push_back({.name = port.name, .shape = port.shape});
    }
  }
  return inputs;
}
#else
std::vector<Port> write_part(const Graph&, const std::string& path, const Bindings&) {
  fail("`{}`: this build writes no ONNX models (it was configured with TENON_ONNX=OFF)", path);
}
#endif

std::string port_rows(const std::vector<Port>& ports) {
  std::vector<std::string> rows;
  for (const Port& port : ports) {
    rows.push_back(
        fmt::format(R"({{"name": {}, "shape": {}}})", json_quoted(port.name), json_quoted(port.shape.to_string())));
  }
  return fmt::format("[{}]", fmt::join(rows, ", "));
}

std::string part_file(size_t index) { return fmt::format("part{:03}.onnx", index + 1); }

/// All files of the plan, in a folder that is there.
void write_files(const PartitionModel& model, const partition::Plan& plan, const std::filesystem::path& folder) {
  std::string text = fmt::format("{{\n  \"model\": {},\n  \"sizes\": {{", json_quoted(plan.model));
  std::string separator;
  for (const auto& [name, size] : plan.bindings) {
    text += fmt::format("{}{}: {}", separator, json_quoted(name), size);
    separator = ", ";
  }
  text += fmt::format("}},\n  \"inputs\": {},\n  \"outputs\": {},\n  \"parts\": [\n",
                      port_rows(inputs_of(model.work.graph)), port_rows(outputs_of(model.work.graph)));
  for (size_t i = 0; i < plan.parts.size(); ++i) {
    const Graph graph = part_graph(model.work, plan, i);
    const std::vector<Port> inputs = write_part(graph, (folder / part_file(i)).string(), plan.bindings);
    std::vector<std::string> nodes;
    for (const std::string& node : nodes_of(plan.parts[i], model.work)) {
      nodes.push_back(json_quoted(node));
    }
    text += fmt::format("    {{\"file\": \"{}\", \"inputs\": {}, \"outputs\": {}, \"nodes\": [{}]}}{}\n", part_file(i),
                        port_rows(inputs), port_rows(outputs_of(graph)), fmt::join(nodes, ", "),
                        i + 1 < plan.parts.size() ? "," : "");
  }
  write_text((folder / kManifest).string(), text + "  ]\n}\n");
}

/// Error: it has files that no export has written, which would be lost.
void require_export_or_empty(const std::filesystem::path& folder) {
  std::error_code error;
  if (std::filesystem::exists(folder, error) && !std::filesystem::is_directory(folder, error)) {
    fail("`--export {}`: there is a file of that name", folder.string());
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name != kManifest && !(name.starts_with("part") && name.ends_with(".onnx"))) {
      fail("`--export {}`: the folder has other files, such as `{}`; name a new one", folder.string(), name);
    }
  }
}

/// A folder beside another, gone at the end unless it has taken its place.
class FolderBeside {
 public:
  explicit FolderBeside(const std::filesystem::path& place)
      : place_(place), path_(place.string() + fmt::format(".new{}", getpid())) {
    std::error_code error;
    std::filesystem::create_directories(path_, error);
    if (error) {
      fail("cannot make the folder `{}`: {}", place.string(), error.message());
    }
  }
  ~FolderBeside() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  FolderBeside(const FolderBeside&) = delete;
  FolderBeside& operator=(const FolderBeside&) = delete;

  const std::filesystem::path& path() const { return path_; }

  /// What was in the place is gone then.
  void take_place() {
    const std::filesystem::path old = path_.string() + ".old";
    std::error_code error;
    const bool was_there = std::filesystem::exists(place_, error);
    if (was_there) {
      std::filesystem::rename(place_, old, error);
    }
    if (!error) {
      std::filesystem::rename(path_, place_, error);
    }
    if (error) {
      std::error_code ignored;
      std::filesystem::rename(old, place_, ignored);
      fail("cannot make the folder `{}`: {}", place_.string(), error.message());
    }
    std::filesystem::remove_all(old, error);
  }

 private:
  std::filesystem::path place_, path_;
};

}  // namespace

void export_parts(const PartitionModel& model, const partition::Plan& plan, const std::string& folder) {
  std::error_code error;
  std::filesystem::path place = std::filesystem::absolute(folder, error).lexically_normal();
  if (error) {
    fail("cannot write the folder `{}`: {}", folder, error.message());
  }
  place = place.has_filename() ? place : place.parent_path();
  require_export_or_empty(place);
  FolderBeside made(place);
  write_files(model, plan, made.path());
  made.take_place();
}

}  // namespace tenon::cli
