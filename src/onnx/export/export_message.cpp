#include "onnx/export/export_message.h"

#include <utility>

namespace tenon::exporter {
namespace {

/// Seven bits a byte, as messages have numbers.
void add_number(std::string& to, size_t number) {
  for (; number >= 0x80; number >>= 7U) {
    to += static_cast<char>((number & 0x7FU) | 0x80U);
  }
  to += static_cast<char>(number);
}

/// What stands before a field that is so many bytes long.
void add_field(std::string& to, int field, size_t bytes) {
  constexpr size_t kBytesFollow = 2;
  add_number(to, (static_cast<size_t>(field) << 3U) | kBytesFollow);
  add_number(to, bytes);
}

}  // namespace

/// Fields of a message may stand in any order, and those of a list in several places, so initializers stand last in the
/// graph, the graph in the model, and elements in their tensor.
ModelMessage::ModelMessage(proto::ModelProto model, std::map<std::string, Array> large) : large_(std::move(large)) {
  proto::GraphProto graph;
  graph.Swap(model.mutable_graph());
  model.clear_graph();
  size_t of_tensors = 0;
  for (const proto::TensorProto& tensor : graph.initializer()) {
    std::string fields = tensor.SerializeAsString();
    const auto found = large_.find(tensor.name());
    const Array* const elements = found == large_.end() ? nullptr : &found->second;
    const size_t raw = elements == nullptr ? 0 : elements->byte_count();
    if (elements != nullptr) {
      add_field(fields, proto::TensorProto::kRawDataFieldNumber, raw);
    }
    Tensor& each = tensors_.emplace_back();
    add_field(each.head, proto::GraphProto::kInitializerFieldNumber, fields.size() + raw);
    each.head += fields;
    each.elements = elements;
    of_tensors += each.head.size() + raw;
  }
  graph.clear_initializer();
  const std::string rest = graph.SerializeAsString();
  head_ = model.SerializeAsString();
  add_field(head_, proto::ModelProto::kGraphFieldNumber, rest.size() + of_tensors);
  head_ += rest;
  bytes_ = head_.size() + of_tensors;
}

void ModelMessage::write(const std::function<void(std::span<const std::byte>)>& put) const {
  put(std::as_bytes(std::span(head_)));
  for (const Tensor& tensor : tensors_) {
    put(std::as_bytes(std::span(tensor.head)));
    if (tensor.elements != nullptr) {
      put({tensor.elements->data(), tensor.elements->byte_count()});
    }
  }
}

}  // namespace tenon::exporter
