#include "tenon/safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <fstream>
#include <set>

#include "base/fail.h"
#include "base/json.h"
#include "base/mapped_file.h"
#include "base/read_file.h"

namespace tenon {
namespace {

static_assert(std::endian::native == std::endian::little, "the format's numbers are little-endian");

constexpr int64_t kLengthBytes = 8;
constexpr int64_t kMostHeader = 100'000'000;

struct DtypeName {
  Dtype dtype;
  std::string_view name;
};
constexpr std::array kDtypeNames = std::to_array<DtypeName>({{Dtype::boolean, "BOOL"},
                                                             {Dtype::u8, "U8"},
                                                             {Dtype::i8, "I8"},
                                                             {Dtype::u16, "U16"},
                                                             {Dtype::i16, "I16"},
                                                             {Dtype::u32, "U32"},
                                                             {Dtype::i32, "I32"},
                                                             {Dtype::u64, "U64"},
                                                             {Dtype::i64, "I64"},
                                                             {Dtype::f16, "F16"},
                                                             {Dtype::bf16, "BF16"},
                                                             {Dtype::f32, "F32"},
                                                             {Dtype::f64, "F64"}});

/// What the header says of one tensor.
struct Placed {
  std::string name;
  Dtype dtype = Dtype::f32;
  std::vector<int64_t> dims;
  int64_t begin = 0;
  int64_t end = 0;
};

class HeaderReader {
 public:
  HeaderReader(const std::filesystem::path& file, int64_t data_bytes) : file_(file), data_bytes_(data_bytes) {}

  std::vector<Placed> read(const JsonValue& header, std::map<std::string, std::string>& metadata) const {
    if (header.object() == nullptr) {
      refuse("the header is no object");
    }
    std::vector<Placed> all;
    for (const auto& [name, value] : *header.object()) {
      if (name == "__metadata__") {
        read_metadata(value, metadata);
      } else {
        all.push_back(read_tensor(name, value));
      }
    }
    std::ranges::sort(all, {}, [](const Placed& one) { return std::pair(one.begin, one.end); });
    int64_t end = 0;
    for (const Placed& one : all) {
      if (one.begin != end) {
        refuse(fmt::format("tensor `{}` begins at byte {}, where the one before ends at {}", one.name, one.begin, end));
      }
      end = one.end;
    }
    if (end != data_bytes_) {
      refuse(fmt::format("{} bytes belong to no tensor", data_bytes_ - end));
    }
    return all;
  }

  [[noreturn]] void refuse(std::string_view why) const { fail("{}: no safetensors file: {}", file_.string(), why); }

 private:
  void read_metadata(const JsonValue& value, std::map<std::string, std::string>& to) const {
    if (value.object() == nullptr) {
      refuse("__metadata__ is no object");
    }
    for (const auto& [key, text] : *value.object()) {
      if (text.text() == nullptr) {
        refuse(fmt::format("__metadata__ `{}` is no text", key));
      }
      to[key] = *text.text();
    }
  }

  std::vector<int64_t> integers(const std::string& name, const JsonValue& value, std::string_view field) const {
    const JsonValue* list = value.find(field);
    if (list == nullptr || list->list() == nullptr) {
      refuse(fmt::format("tensor `{}` has no list `{}`", name, field));
    }
    std::vector<int64_t> result;
    for (const JsonValue& item : *list->list()) {
      int64_t number = 0;
      if (!item.integer(number) || number < 0) {
        refuse(fmt::format("`{}` of tensor `{}` has what is no size", field, name));
      }
      result.push_back(number);
    }
    return result;
  }

  Placed read_tensor(const std::string& name, const JsonValue& value) const {
    const JsonValue* dtype = value.find("dtype");
    if (dtype == nullptr || dtype->text() == nullptr) {
      refuse(fmt::format("tensor `{}` has no dtype", name));
    }
    const auto known = std::ranges::find(kDtypeNames, *dtype->text(), &DtypeName::name);
    if (known == kDtypeNames.end()) {
      refuse(fmt::format("tensor `{}` is of dtype {}, which is not supported", name, *dtype->text()));
    }
    Placed placed{.name = name, .dtype = known->dtype, .dims = integers(name, value, "shape")};
    const std::vector<int64_t> offsets = integers(name, value, "data_offsets");
    if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data_bytes_) {
      refuse(fmt::format("tensor `{}` lies outside of the file, which has {} bytes of data", name, data_bytes_));
    }
    placed.begin = offsets[0];
    placed.end = offsets[1];
    auto bytes = static_cast<double>(byte_size(placed.dtype));  // exact as far as files go
    for (const int64_t size : placed.dims) {
      bytes *= static_cast<double>(size);
    }
    if (bytes != static_cast<double>(placed.end - placed.begin)) {
      refuse(fmt::format("tensor `{}` is {}[{}], and {} bytes are given for it", name, tenon::name(placed.dtype),
                         fmt::join(placed.dims, ", "), placed.end - placed.begin));
    }
    return placed;
  }

  const std::filesystem::path& file_;
  int64_t data_bytes_;
};

std::string header_of(const SafeTensors& tensors) {
  std::string text = "{";
  const auto separate = [&] { text += text.size() > 1 ? "," : ""; };
  if (!tensors.metadata.empty()) {
    std::vector<std::string> members;
    for (const auto& [key, value] : tensors.metadata) {
      members.push_back(json_quoted(key) + ":" + json_quoted(value));
    }
    text += fmt::format("\"__metadata__\":{{{}}}", fmt::join(members, ","));
  }
  size_t at = 0;
  std::set<std::string_view> names;
  for (const auto& [name, array] : tensors.arrays) {
    if (name == "__metadata__" || !names.insert(name).second) {
      fail("a tensor cannot be called `{}` here: {}", name,
           name == "__metadata__" ? "the format uses that name" : "another one is");
    }
    const auto dtype = std::ranges::find(kDtypeNames, array.dtype(), &DtypeName::dtype);
    if (dtype == kDtypeNames.end()) {
      fail("tensor `{}` is of dtype {}, which the safetensors format does not have", name, tenon::name(array.dtype()));
    }
    separate();
    text += fmt::format("{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}", json_quoted(name),
                        dtype->name, fmt::join(array.dims(), ","), at, at + array.byte_count());
    at += array.byte_count();
  }
  text += "}";
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

}  // namespace

const Array* SafeTensors::find(std::string_view name) const {
  const auto found = std::ranges::find(arrays, name, [](const auto& one) { return std::string_view(one.first); });
  return found == arrays.end() ? nullptr : &found->second;
}

SafeTensors load_safetensors(const std::filesystem::path& file) {
  const int64_t bytes = regular_file_size(file);
  if (bytes < kLengthBytes) {
    fail("{}: no safetensors file: it has {} bytes", file.string(), bytes);
  }
  uint64_t length = 0;
  std::memcpy(&length, map_file(file.string(), 0, kLengthBytes).get(), sizeof length);
  if (length > static_cast<uint64_t>(std::min(kMostHeader, bytes - kLengthBytes))) {
    fail("{}: no safetensors file, or one that was cut off: its header would have {} bytes, and {} follow",
         file.string(), length, bytes - kLengthBytes);
  }
  const auto header_bytes = static_cast<int64_t>(length);
  std::string text(length, '\0');
  if (header_bytes > 0) {
    std::memcpy(text.data(), map_file(file.string(), kLengthBytes, header_bytes).get(), length);
  }
  const int64_t start = kLengthBytes + header_bytes;
  const HeaderReader reader(file, bytes - start);
  SafeTensors result;
  for (const Placed& one :
       reader.read(JsonValue::parse(text, fmt::format("the header of {}", file.string())), result.metadata)) {
    const int64_t size = one.end - one.begin;
    const auto place = start + one.begin;
    Array array;
    if (size == 0) {
      array = Array(one.dtype, one.dims);
    } else if (place % static_cast<int64_t>(byte_size(one.dtype)) == 0) {
      array = Array::adopt(one.dtype, one.dims, map_file(file.string(), place, size));
    } else {  // elements at addresses that their size does not divide: a copy has them in place
      array = Array::uninitialized(one.dtype, one.dims);
      std::memcpy(array.mutable_data(), map_file(file.string(), place, size).get(), static_cast<size_t>(size));
    }
    result.arrays.emplace_back(one.name, std::move(array));
  }
  return result;
}

void save_safetensors(const std::filesystem::path& file, const SafeTensors& tensors) {
  const std::string header = header_of(tensors);
  const std::filesystem::path beside = file.string() + ".new";
  {
    std::ofstream out(beside, std::ios::binary | std::ios::trunc);
    const uint64_t length = header.size();
    out.write(reinterpret_cast<const char*>(&length), sizeof length);
    out << header;
    for (const auto& [name, array] : tensors.arrays) {
      out.write(reinterpret_cast<const char*>(array.data()), static_cast<std::streamsize>(array.byte_count()));
    }
    if (!out.flush()) {
      std::error_code ignored;
      std::filesystem::remove(beside, ignored);
      fail("{}: cannot be written", file.string());
    }
  }
  std::error_code error;
  std::filesystem::rename(beside, file, error);
  if (error) {
    fail("{}: cannot be written: {}", file.string(), error.message());
  }
}

}  // namespace tenon
