#include <fstream>

#include "base/fail.h"
#include "onnx/export_writer.h"
#include "passes/inline_calls.h"
#include "tenon/onnx_export.h"

namespace tenon {
namespace {

constexpr int64_t kOpset = 17;
constexpr int64_t kIrVersion = 8;
constexpr size_t kMostBytes = (size_t{1} << 31) - (size_t{1} << 20);  // what a message may have, and room for the rest

size_t constant_bytes(const Graph& graph) {
  size_t bytes = 0;
  for (const Node* node : graph.nodes()) {
    const auto* constant = node->as<Constant>();
    bytes += constant != nullptr ? constant->value.byte_count() : 0;
  }
  return bytes;
}

}  // namespace

std::string export_onnx_bytes(const Graph& graph) {
  const Graph flat = inline_calls(graph);
  if (const size_t bytes = constant_bytes(flat); bytes > kMostBytes) {
    fail("graph `{}` has {} bytes of constants; an ONNX file holds at most 2 GiB", graph.name(), bytes);
  }
  proto::ModelProto model;
  model.set_ir_version(kIrVersion);
  model.set_producer_name("tenon");
  model.add_opset_import()->set_version(kOpset);
  *model.mutable_graph() = OnnxWriter(flat).write();
  return model.SerializeAsString();
}

void export_onnx(const Graph& graph, const std::filesystem::path& path) {
  const std::string bytes = export_onnx_bytes(graph);
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) {
    fail("cannot write the file `{}`", path.string());
  }
}

}  // namespace tenon
