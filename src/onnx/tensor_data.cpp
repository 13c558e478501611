#include "onnx/tensor_data.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/checked.h"
#include "base/dtype_visit.h"
#include "base/fail.h"
#include "onnx/number_format.h"

namespace tenon::importer {
namespace {

using proto::TensorProto;

int64_t element_count(const TensorProto& tensor) {
  int64_t count = 1;
  for (const int64_t dim : tensor.dims()) {
    const std::optional<int64_t> product = dim < 0 ? std::nullopt : checked_mul(count, dim);
    if (!product) {
      fail("tensor `{}` has a size of {}", tensor.name(), dim);
    }
    count = *product;
  }
  return count;
}

[[noreturn]] void fail_count(const TensorProto& tensor, int64_t have, int64_t want, std::string_view what) {
  fail("tensor `{}` has {} {}, must have {}", tensor.name(), have, what, want);
}

std::vector<int64_t> dims_of(const TensorProto& tensor) { return {tensor.dims().begin(), tensor.dims().end()}; }

/// Elements that lie in memory as an array has them.
Array from_bytes(const TensorProto& tensor, Dtype dtype, const void* bytes, size_t count) {
  const int64_t elements = element_count(tensor);
  const std::optional<int64_t> wanted = checked_mul(elements, static_cast<int64_t>(byte_size(dtype)));
  if (!wanted || static_cast<int64_t>(count) != *wanted) {
    fail_count(tensor, static_cast<int64_t>(count), wanted.value_or(elements), "bytes");
  }
  Array result = Array::uninitialized(dtype, dims_of(tensor));
  if (count > 0) {
    std::memcpy(result.mutable_data(), bytes, count);
  }
  if (dtype == Dtype::boolean) {
    auto* flags = reinterpret_cast<uint8_t*>(result.mutable_data());
    std::transform(flags, flags + count, flags, [](uint8_t flag) { return flag != 0; });
  }
  return result;
}

/// One element a field; `convert` makes what an array stores.
template <class Stored, class Field, class Convert>
Array from_fields(const TensorProto& tensor, Dtype dtype, const Field& fields, Convert&& convert) {
  const int64_t elements = element_count(tensor);
  if (fields.size() != elements) {
    fail_count(tensor, fields.size(), elements, "elements");
  }
  Array result(dtype, dims_of(tensor));
  auto* out = reinterpret_cast<Stored*>(result.mutable_data());
  for (const auto field : fields) {
    *out++ = convert(field);
  }
  return result;
}

/// How many bytes hold elements of less than a byte.
int64_t bytes_of_parts(int64_t elements, Format format) {
  const int64_t each = 8 / bits_of(format);
  return elements / each + (elements % each == 0 ? 0 : 1);
}

/// Several elements a byte, the lowest bits first.
Array from_parts_of_bytes(const TensorProto& tensor, Format format, std::string_view bytes) {
  const int64_t elements = element_count(tensor);
  const int bits = bits_of(format);
  const int64_t each = 8 / bits;
  const int64_t wanted = bytes_of_parts(elements, format);
  if (static_cast<int64_t>(bytes.size()) != wanted) {
    fail_count(tensor, static_cast<int64_t>(bytes.size()), wanted, "bytes");
  }
  const Dtype dtype = dtype_of(format);
  Array result(dtype, dims_of(tensor));
  auto* out = reinterpret_cast<uint8_t*>(result.mutable_data());
  const int range = 1 << bits;
  for (int64_t i = 0; i < elements; ++i) {
    const auto byte = static_cast<uint8_t>(bytes[static_cast<size_t>(i / each)]);
    const int part = (byte >> (i % each * bits)) & (range - 1);
    out[i] = static_cast<uint8_t>(dtype == Dtype::i8 && part >= range / 2 ? part - range : part);
  }
  return result;
}

Array from_typed_fields(const TensorProto& tensor, Dtype dtype) {
  switch (dtype) {
    case Dtype::f32: return from_fields<float>(tensor, dtype, tensor.float_data(), [](float x) { return x; });
    case Dtype::f64: return from_fields<double>(tensor, dtype, tensor.double_data(), [](double x) { return x; });
    case Dtype::i64: return from_fields<int64_t>(tensor, dtype, tensor.int64_data(), [](int64_t x) { return x; });
    case Dtype::u64: return from_fields<uint64_t>(tensor, dtype, tensor.uint64_data(), [](uint64_t x) { return x; });
    case Dtype::u32:
      return from_fields<uint32_t>(tensor, dtype, tensor.uint64_data(),
                                   [](uint64_t x) { return static_cast<uint32_t>(x); });
    case Dtype::i32: return from_fields<int32_t>(tensor, dtype, tensor.int32_data(), [](int32_t x) { return x; });
    case Dtype::f16:
    case Dtype::bf16:  // the field holds the bits
    case Dtype::i16:
    case Dtype::u16:
      return from_fields<uint16_t>(tensor, dtype, tensor.int32_data(),
                                   [](int32_t x) { return static_cast<uint16_t>(x); });
    case Dtype::i8:
    case Dtype::u8:
      return from_fields<uint8_t>(tensor, dtype, tensor.int32_data(),
                                  [](int32_t x) { return static_cast<uint8_t>(x); });
    case Dtype::boolean:
      return from_fields<uint8_t>(tensor, dtype, tensor.int32_data(),
                                  [](int32_t x) { return static_cast<uint8_t>(x != 0); });
  }
  TENON_CHECK(false);
}

int64_t parse_number(const TensorProto& tensor, const std::string& key, const std::string& text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) {
    fail("tensor `{}`: `{}` is no {} of external data", tensor.name(), text, key);
  }
  return number;
}

/// `wanted` bytes, of a file.
Array external_bytes(const TensorProto& tensor, std::optional<int64_t> wanted, ExternalFiles& files) {
  std::string location;
  int64_t offset = 0;
  std::optional<int64_t> length;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") {
      location = entry.value();
    } else if (entry.key() == "offset") {
      offset = parse_number(tensor, "offset", entry.value());
    } else if (entry.key() == "length") {
      length = parse_number(tensor, "length", entry.value());
    }
  }
  if (!wanted || (length && *length != *wanted)) {
    fail_count(tensor, length.value_or(0), wanted.value_or(element_count(tensor)), "bytes");
  }
  return files.bytes(location, offset, *wanted);
}

Array from_external(const TensorProto& tensor, Dtype dtype, ExternalFiles& files) {
  const int64_t elements = element_count(tensor);
  const Array bytes = external_bytes(tensor, checked_mul(elements, static_cast<int64_t>(byte_size(dtype))), files);
  if (elements == 0) {
    return Array(dtype, dims_of(tensor));
  }
  const auto address = reinterpret_cast<uintptr_t>(bytes.data());
  if (dtype == Dtype::boolean || address % byte_size(dtype) != 0) {
    return from_bytes(tensor, dtype, bytes.data(), bytes.byte_count());
  }
  auto owner = std::make_shared<Array>(bytes);
  auto* start = const_cast<std::byte*>(owner->data());  // private memory: see ExternalFiles
  return Array::adopt(dtype, dims_of(tensor), std::shared_ptr<std::byte[]>(std::move(owner), start));
}

Array parts_from_external(const TensorProto& tensor, Format format, ExternalFiles& files) {
  const Array bytes = external_bytes(tensor, bytes_of_parts(element_count(tensor), format), files);
  return from_parts_of_bytes(tensor, format, {reinterpret_cast<const char*>(bytes.data()), bytes.byte_count()});
}

}  // namespace

std::string onnx_type_name(int onnx_type) {
  return proto::TensorProto_DataType_IsValid(onnx_type)
             ? proto::TensorProto_DataType_Name(static_cast<proto::TensorProto_DataType>(onnx_type))
             : fmt::format("type {}", onnx_type);
}

Dtype to_dtype(int onnx_type) {
  if (const Format format = format_of(onnx_type); format != Format::plain) {
    return dtype_of(format);
  }
  switch (onnx_type) {
    case TensorProto::FLOAT: return Dtype::f32;
    case TensorProto::DOUBLE: return Dtype::f64;
    case TensorProto::FLOAT16: return Dtype::f16;
    case TensorProto::BFLOAT16: return Dtype::bf16;
    case TensorProto::INT8: return Dtype::i8;
    case TensorProto::INT16: return Dtype::i16;
    case TensorProto::INT32: return Dtype::i32;
    case TensorProto::INT64: return Dtype::i64;
    case TensorProto::UINT8: return Dtype::u8;
    case TensorProto::UINT16: return Dtype::u16;
    case TensorProto::UINT32: return Dtype::u32;
    case TensorProto::UINT64: return Dtype::u64;
    case TensorProto::BOOL: return Dtype::boolean;
    default: fail("elements of {} are not supported", onnx_type_name(onnx_type));
  }
}

int to_onnx_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32: return TensorProto::FLOAT;
    case Dtype::f64: return TensorProto::DOUBLE;
    case Dtype::f16: return TensorProto::FLOAT16;
    case Dtype::bf16: return TensorProto::BFLOAT16;
    case Dtype::i8: return TensorProto::INT8;
    case Dtype::i16: return TensorProto::INT16;
    case Dtype::i32: return TensorProto::INT32;
    case Dtype::i64: return TensorProto::INT64;
    case Dtype::u8: return TensorProto::UINT8;
    case Dtype::u16: return TensorProto::UINT16;
    case Dtype::u32: return TensorProto::UINT32;
    case Dtype::u64: return TensorProto::UINT64;
    case Dtype::boolean: return TensorProto::BOOL;
  }
  TENON_CHECK(false);
}

Array to_array(const TensorProto& tensor, ExternalFiles& files) {
  const Dtype dtype = to_dtype(tensor.data_type());
  const Format format = format_of(tensor.data_type());
  const bool is_part = format != Format::plain && bits_of(format) < 8;
  if (tensor.has_segment()) {
    fail("tensor `{}` is a segment of another, which is not supported", tensor.name());
  }
  if (tensor.data_location() == TensorProto::EXTERNAL) {
    return is_part ? parts_from_external(tensor, format, files) : from_external(tensor, dtype, files);
  }
  if (is_part) {
    const std::string typed(tensor.int32_data().begin(), tensor.int32_data().end());  // a byte each
    return from_parts_of_bytes(tensor, format, tensor.has_raw_data() ? std::string_view(tensor.raw_data()) : typed);
  }
  if (tensor.has_raw_data()) {
    return from_bytes(tensor, dtype, tensor.raw_data().data(), tensor.raw_data().size());
  }
  return from_typed_fields(tensor, dtype);
}

}  // namespace tenon::importer
