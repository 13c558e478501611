// Bytes become messages; the rest is the importer's.
#include <google/protobuf/io/coded_stream.h>

#include <fstream>
#include <limits>
#include <set>

#include "base/fail.h"
#include "onnx/importer.h"

namespace tenon {
namespace {

/// Protobuf counts bytes in an int; larger models keep their weights in files beside them.
constexpr int64_t kMostBytes = std::numeric_limits<int>::max();

proto::ModelProto parse(std::string_view bytes) {
  if (static_cast<int64_t>(bytes.size()) > kMostBytes) {
    fail("a model of {} bytes is too large: weights beyond 2 GB belong into external data", bytes.size());
  }
  proto::ModelProto model;
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  // Missing fields are told by whoever needs them, in words of the model.
  if (!model.ParsePartialFromCodedStream(&stream) || !stream.ConsumedEntireMessage()) {
    fail("not an ONNX model: its bytes end too early, nest too deeply or are something else");
  }
  if (!model.has_graph()) {
    fail("not an ONNX model: there is no graph in it");
  }
  return model;
}

std::string read_file(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) {
    fail("there is no file `{}`", file.string());
  }
  const auto size = std::filesystem::file_size(file, error);
  std::ifstream stream(file, std::ios::binary);
  if (error || !stream || size > static_cast<uintmax_t>(kMostBytes)) {
    fail("`{}` cannot be read, or has more than 2 GB: weights beyond that belong into external data", file.string());
  }
  std::string bytes(size, '\0');
  stream.read(bytes.data(), static_cast<std::streamsize>(size));
  bytes.resize(static_cast<size_t>(stream.gcount()));
  return bytes;
}

}  // namespace

Graph import_onnx_bytes(std::string_view bytes, const std::filesystem::path& folder, const OnnxOptions& options) {
  const proto::ModelProto model = parse(bytes);
  return importer::Importer(model, folder, options).run();
}

OnnxSignature onnx_signature(const std::filesystem::path& file) {
  const proto::ModelProto model = parse(read_file(file));
  std::set<std::string> constants;
  for (const auto& tensor : model.graph().initializer()) {
    constants.insert(tensor.name());
  }
  OnnxSignature signature;
  for (const auto& input : model.graph().input()) {
    if (!constants.contains(input.name())) {
      signature.inputs.push_back({input.name(), importer::declared_shape(input)});
    }
  }
  for (const auto& output : model.graph().output()) {
    signature.outputs.push_back(output.name());
  }
  return signature;
}

Graph import_onnx(const std::filesystem::path& file, const OnnxOptions& options) {
  const std::filesystem::path folder = file.parent_path();
  return import_onnx_bytes(read_file(file), folder.empty() ? "." : folder, options);
}

}  // namespace tenon
