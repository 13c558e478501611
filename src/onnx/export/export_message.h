// A model as the bytes of its file, without a copy of its weights.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "onnx/proto.h"
#include "tenon/array.h"

namespace tenon::exporter {

/// The message of a model, some of whose initializers have their elements in arrays. It is written a piece at a time,
/// and the pieces of large tensors are the arrays' own memory.
class ModelMessage {
 public:
  /// `large` are the elements of initializers of the main graph, by name.
  ModelMessage(proto::ModelProto model, std::map<std::string, Array> large);

  size_t bytes() const { return bytes_; }
  /// Calls it with all bytes in order.
  void write(const std::function<void(std::span<const std::byte>)>& put) const;

 private:
  /// What stands before an array, as bytes of the message.
  struct Tensor {
    std::string head;
    const Array* elements = nullptr;  // null: they are in the head
  };

  std::map<std::string, Array> large_;
  std::string head_;  // all but the tensors
  std::vector<Tensor> tensors_;
  size_t bytes_ = 0;
};

}  // namespace tenon::exporter
