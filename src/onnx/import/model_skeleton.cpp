// Protobuf's encoding: a message is a row of fields, each a tag (number and wire type) and what the type says, among
// them texts and messages behind their length. A message that loses bytes has another length, and so have those around
// it; everything else is copied.
#include "onnx/import/model_skeleton.h"

#include <algorithm>
#include <array>
#include <optional>

#include "onnx/tensor_data.h"

namespace tenon::importer {
namespace {

enum class Message : uint8_t { other, model, function, graph, node, attribute, tensor };

/// Fields that tensors are found through.
struct ModelField {
  Message of;
  uint64_t field;
  Message is;
};
constexpr std::array kParts = {
    ModelField{Message::model, proto::ModelProto::kGraphFieldNumber, Message::graph},
    ModelField{Message::model, proto::ModelProto::kFunctionsFieldNumber, Message::function},
    ModelField{Message::function, proto::FunctionProto::kNodeFieldNumber, Message::node},
    ModelField{Message::graph, proto::GraphProto::kNodeFieldNumber, Message::node},
    ModelField{Message::graph, proto::GraphProto::kInitializerFieldNumber, Message::tensor},
    ModelField{Message::node, proto::NodeProto::kAttributeFieldNumber, Message::attribute},
    ModelField{Message::attribute, proto::AttributeProto::kTFieldNumber, Message::tensor},
    ModelField{Message::attribute, proto::AttributeProto::kTensorsFieldNumber, Message::tensor},
    ModelField{Message::attribute, proto::AttributeProto::kGFieldNumber, Message::graph},
    ModelField{Message::attribute, proto::AttributeProto::kGraphsFieldNumber, Message::graph},
};

constexpr uint64_t kText = 2;        // the wire type of what has a length
constexpr int kDeepest = 100;        // messages in each other, as many as protobuf takes
constexpr int kVarintBytes = 10;     // at most
constexpr size_t kWindow = 1 << 16;  // bytes read at once

void put_varint(uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) {
    out.push_back(static_cast<char>(value | 0x80));
  }
  out.push_back(static_cast<char>(value));
}

void put_text(uint64_t field, std::string_view text, std::string& out) {
  put_varint(field << 3 | kText, out);
  put_varint(text.size(), out);
  out += text;
}

/// Bytes of the file, by their offsets.
class Bytes {
 public:
  explicit Bytes(const File& file) : file_(file), size_(file.size()) {}

  int64_t size() const { return size_; }

  /// The number at `at`, which moves behind it; nothing when it does not end before `end`.
  std::optional<uint64_t> varint(int64_t& at, int64_t end) {
    uint64_t value = 0;
    for (int i = 0; i < kVarintBytes && at < end; ++i) {
      const auto byte = static_cast<uint8_t>(byte_at(at++));
      value |= uint64_t{byte & 0x7FU} << (7 * i);
      if (byte < 0x80) {
        return value;
      }
    }
    return {};
  }

  void append(int64_t begin, int64_t end, std::string& out) const {
    const size_t before = out.size();
    out.resize(before + static_cast<size_t>(end - begin));
    file_.read(begin, std::as_writable_bytes(std::span(out).subspan(before)));
  }

 private:
  std::byte byte_at(int64_t at) {
    if (at < begin_ || at >= begin_ + std::ssize(window_)) {
      begin_ = at;
      window_.resize(static_cast<size_t>(std::min<int64_t>(kWindow, size_ - at)));
      file_.read(begin_, window_);
    }
    return window_[static_cast<size_t>(at - begin_)];
  }

  const File& file_;
  int64_t size_;
  int64_t begin_ = 0;
  std::vector<std::byte> window_;
};

/// A field from its tag to its end; `content` is behind the length of a text.
struct Field {
  uint64_t number = 0;
  uint64_t type = 0;
  int64_t begin = 0;
  int64_t content = 0;
  int64_t end = 0;

  int64_t size() const { return end - content; }
};

/// The field that begins at `begin` of a message that ends at `end`; nothing when its bytes are none.
std::optional<Field> field_at(Bytes& bytes, int64_t begin, int64_t end) {
  int64_t at = begin;
  const std::optional<uint64_t> tag = bytes.varint(at, end);
  if (!tag) {
    return {};
  }
  uint64_t length = 0;
  switch (*tag & 7) {
    case 0: length = bytes.varint(at, end) ? 0 : UINT64_MAX; break;
    case 1: length = 8; break;
    case kText: length = bytes.varint(at, end).value_or(UINT64_MAX); break;
    case 5: length = 4; break;
    default: return {};
  }
  if (length > static_cast<uint64_t>(end - at)) {
    return {};
  }
  return Field{
      .number = *tag >> 3, .type = *tag & 7, .begin = begin, .content = at, .end = at + static_cast<int64_t>(length)};
}

class Cutter {
 public:
  explicit Cutter(const File& file) : bytes_(file) {}

  std::string run() {
    std::string out;
    const Field whole{.end = bytes_.size()};
    if (!cut(Message::model, whole, 1, out)) {
      bytes_.append(0, bytes_.size(), out);
    }
    return out;
  }

 private:
  /// Appends the message without its large tensors; false, and nothing appended: it is to be left as it is.
  bool cut(Message kind, const Field& message, int depth, std::string& out) {
    if (depth > kDeepest) {
      return false;
    }
    return kind == Message::tensor ? cut_tensor(message, out) : cut_parts(kind, message, depth, out);
  }

  bool cut_parts(Message kind, const Field& message, int depth, std::string& out) {
    const size_t before = out.size();
    int64_t copied = message.content;  // up to where
    for (int64_t at = message.content; at < message.end;) {
      const std::optional<Field> field = field_at(bytes_, at, message.end);
      if (!field) {
        out.resize(before);
        return false;
      }
      at = field->end;
      const Message part = field->size() < kLargeTensor ? Message::other : part_of(kind, *field);
      std::string inner;
      if (part != Message::other && cut(part, *field, depth + 1, inner)) {
        bytes_.append(copied, field->begin, out);
        put_text(field->number, inner, out);
        copied = field->end;
      }
    }
    bytes_.append(copied, message.end, out);
    return true;
  }

  bool cut_tensor(const Field& tensor, std::string& out) {
    const std::optional<Field> elements = elements_of(tensor);
    if (!elements) {
      return false;
    }
    bytes_.append(tensor.content, elements->begin, out);
    put_place(*elements, out);
    bytes_.append(elements->end, tensor.end, out);
    return true;
  }

  static Message part_of(Message kind, const Field& field) {
    const auto found = std::ranges::find_if(kParts, [&](const ModelField& part) {
      return part.of == kind && part.field == field.number && field.type == kText;
    });
    return found == kParts.end() ? Message::other : found->is;
  }

  /// The field with the elements of a tensor, where they are many and nowhere else.
  std::optional<Field> elements_of(const Field& tensor) {
    std::optional<Field> found;
    for (int64_t at = tensor.content; at < tensor.end;) {
      const std::optional<Field> field = field_at(bytes_, at, tensor.end);
      if (!field || field->number == proto::TensorProto::kExternalDataFieldNumber ||
          field->number == proto::TensorProto::kDataLocationFieldNumber) {
        return {};
      }
      at = field->end;
      if (field->number == proto::TensorProto::kRawDataFieldNumber) {
        if (found || field->type != kText || field->size() < kLargeTensor) {
          return {};
        }
        found = field;
      }
    }
    return found;
  }

  static void put_place(const Field& elements, std::string& out) {
    const auto put = [&](std::string_view key, std::string_view value) {
      std::string entry;
      put_text(proto::StringStringEntryProto::kKeyFieldNumber, key, entry);
      put_text(proto::StringStringEntryProto::kValueFieldNumber, value, entry);
      put_text(proto::TensorProto::kExternalDataFieldNumber, entry, out);
    };
    put("location", kOwnFile);
    put("offset", std::to_string(elements.content));
    put("length", std::to_string(elements.size()));
    put_varint(uint64_t{proto::TensorProto::kDataLocationFieldNumber} << 3, out);
    put_varint(proto::TensorProto::EXTERNAL, out);
  }

  Bytes bytes_;
};

}  // namespace

std::string read_skeleton(const File& file) { return Cutter(file).run(); }

}  // namespace tenon::importer
