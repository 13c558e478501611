#include "onnx/export/export_external.h"

#include <fmt/format.h>

#include <fstream>
#include <system_error>

#include "base/fail.h"

namespace tenon::exporter {
namespace {

constexpr int64_t kAlignment = 4096;

void add_entry(proto::TensorProto& tensor, const std::string& key, const std::string& value) {
  auto& entry = *tensor.add_external_data();
  entry.set_key(key);
  entry.set_value(value);
}

}  // namespace

void write_external(proto::GraphProto& graph, const std::map<std::string, Array>& arrays,
                    const std::filesystem::path& file) {
  const std::filesystem::path fresh = file.string() + ".new";  // the arrays may be mapped from `file` itself
  std::ofstream stream(fresh, std::ios::binary);
  int64_t at = 0;
  for (proto::TensorProto& tensor : *graph.mutable_initializer()) {
    const auto found = arrays.find(tensor.name());
    if (found == arrays.end()) {
      continue;
    }
    const int64_t begin = (at + kAlignment - 1) / kAlignment * kAlignment;
    stream << std::string(static_cast<size_t>(begin - at), '\0');
    const auto bytes = static_cast<int64_t>(found->second.byte_count());
    stream.write(reinterpret_cast<const char*>(found->second.data()), bytes);
    at = begin + bytes;
    tensor.set_data_location(proto::TensorProto::EXTERNAL);
    add_entry(tensor, "location", file.filename().string());
    add_entry(tensor, "offset", fmt::to_string(begin));
    add_entry(tensor, "length", fmt::to_string(bytes));
  }
  stream.close();
  std::error_code error;
  if (stream) {
    std::filesystem::rename(fresh, file, error);
  }
  if (!stream || error) {
    fail("cannot write the file `{}`", file.string());
  }
}

}  // namespace tenon::exporter
