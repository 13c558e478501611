#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "base/fail.h"
#include "base/file.h"
#include "ir/walk.h"
#include "onnx/export/export_external.h"
#include "onnx/export/export_message.h"
#include "onnx/export/export_types.h"
#include "onnx/export/export_writer.h"
#include "passes/inline_calls.h"
#include "tenon/onnx_export.h"

namespace tenon {

using namespace exporter;

namespace {

/// The IR version of the release that brought each opset, from kOldestOpset on.
constexpr int64_t kIrVersions[] = {8, 8, 9, 9, 10, 10, 11, 12};
static_assert(std::size(kIrVersions) == kNewestOpset - kOldestOpset + 1);
constexpr size_t kMostBytes = (size_t{1} << 31) - 1;  // what a message may have

struct Model {
  proto::ModelProto proto;
  std::map<std::string, Array> large;  // initializers whose elements are not in it
};

Model write_model(const Graph& graph, const OnnxExportOptions& options) {
  const int opset = options.opset;
  if (opset < kOldestOpset || opset > kNewestOpset) {
    fail("opset {} is not written; {} to {} are", opset, kOldestOpset, kNewestOpset);
  }
  OnnxWriter writer(passes::inline_calls(graph), opset, options.weights, kSmallestExternal);
  Model model;
  model.proto.set_ir_version(kIrVersions[opset - kOldestOpset]);
  model.proto.set_producer_name("tenon");
  model.proto.add_opset_import()->set_version(opset);
  *model.proto.mutable_graph() = writer.write();
  model.large = writer.external();
  if (!options.usual.empty()) {
    auto& usual = *model.proto.add_metadata_props();
    usual.set_key("tenon.usual");
    usual.set_value(options.usual.to_string());
  }
  return model;
}

/// Refused before the weights are copied into a message that nobody can write.
void require_room(const Graph& graph, const OnnxExportOptions& options) {
  size_t bytes = 0;
  const auto add = [&](const Array& value) {
    bytes += !options.external_data || value.byte_count() < kSmallestExternal ? value.byte_count() : 0;
  };
  std::ranges::for_each(options.weights, add, &OnnxWeight::value);
  for (const Graph& each : reachable_graphs(graph)) {
    for (const Node* node : each.nodes()) {
      if (const auto* constant = node->as<Constant>()) {
        add(constant->value);
      }
    }
  }
  if (bytes > kMostBytes) {
    fail(
        "graph `{}` has {} bytes of constants, and an ONNX file holds less than 2 GiB; the rest belongs into external "
        "data",
        graph.name(), bytes);
  }
}

void require_size(const Graph& graph, size_t bytes) {
  if (bytes > kMostBytes) {
    fail("graph `{}` takes {} bytes, and an ONNX file holds less than 2 GiB; constants belong into external data",
         graph.name(), bytes);
  }
}

}  // namespace

std::string export_onnx_bytes(const Graph& graph, const OnnxExportOptions& options) {
  if (options.external_data) {
    fail("external data lies beside a file, and the bytes of a model are none: export_onnx() writes both");
  }
  require_room(graph, options);
  Model model = write_model(graph, options);
  const ModelMessage message(std::move(model.proto), model.large);
  require_size(graph, message.bytes());
  std::string bytes;
  bytes.reserve(message.bytes());
  message.write([&](std::span<const std::byte> piece) {
    bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  });
  return bytes;
}

void export_onnx(const Graph& graph, const std::filesystem::path& path, const OnnxExportOptions& options) {
  require_room(graph, options);
  Model model = write_model(graph, options);
  NewFile file(path.string());
  std::optional<NewFile> data;
  if (options.external_data && !model.large.empty()) {
    const std::filesystem::path beside = path.string() + ".data";
    data.emplace(beside.string());
    write_external(*model.proto.mutable_graph(), model.large, *data, beside.filename().string());
    model.large.clear();
  }
  const ModelMessage message(std::move(model.proto), model.large);
  require_size(graph, message.bytes());
  message.write([&](std::span<const std::byte> piece) { file.write(piece); });
  if (data) data->put_in_place();
  file.put_in_place();
}

}  // namespace tenon
