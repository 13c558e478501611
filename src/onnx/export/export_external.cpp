#include "onnx/export/export_external.h"

#include <fmt/format.h>

#include <array>
#include <span>

namespace tenon::exporter {
namespace {

constexpr int64_t kAlignment = 4096;

void add_entry(proto::TensorProto& tensor, const std::string& key, const std::string& value) {
  auto& entry = *tensor.add_external_data();
  entry.set_key(key);
  entry.set_value(value);
}

}  // namespace

void write_external(proto::GraphProto& graph, const std::map<std::string, Array>& arrays, NewFile& file,
                    const std::string& name) {
  constexpr std::array<std::byte, kAlignment> zeros = {};
  int64_t at = 0;
  for (proto::TensorProto& tensor : *graph.mutable_initializer()) {
    const auto found = arrays.find(tensor.name());
    if (found == arrays.end()) {
      continue;
    }
    const int64_t begin = (at + kAlignment - 1) / kAlignment * kAlignment;
    const std::span<const std::byte> bytes(found->second.data(), found->second.byte_count());
    file.write(std::span(zeros).first(static_cast<size_t>(begin - at)));
    file.write(bytes);
    at = begin + std::ssize(bytes);
    tensor.set_data_location(proto::TensorProto::EXTERNAL);
    add_entry(tensor, "location", name);
    add_entry(tensor, "offset", fmt::to_string(begin));
    add_entry(tensor, "length", fmt::to_string(bytes.size()));
  }
}

}  // namespace tenon::exporter
