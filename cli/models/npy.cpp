#include "cli/models/npy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <fstream>
#include <optional>
#include <set>
#include <span>
#include <string_view>

#include "base/fail.h"
#include "base/file.h"
#include "base/read_file.h"

static_assert(std::endian::native == std::endian::little, ".npy files are read and written as they lie in memory");

namespace tenon::cli {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMostHeader = size_t{64} << 10;
constexpr size_t kAlignment = 64;  // of the elements in the file, as NumPy has it

struct NpyType {
  std::string_view code;
  Dtype dtype;
};
constexpr NpyType kTypes[] = {{"<f4", f32}, {"<f8", f64}, {"<f2", f16}, {"|i1", i8},  {"<i2", i16}, {"<i4", i32},
                              {"<i8", i64}, {"|u1", u8},  {"<u2", u16}, {"<u4", u32}, {"<u8", u64}, {"|b1", boolean}};

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<int64_t> dims;
};

/// The header is a Python dictionary with three entries; nothing else is understood.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  /// Nothing where the text is not such a dictionary.
  std::optional<Header> parse() {
    Header header;
    std::set<std::string> seen;
    if (!take('{')) {
      return std::nullopt;
    }
    while (!take('}')) {
      const auto key = string();
      if (!key || !take(':') || !seen.insert(*key).second) {
        return std::nullopt;
      }
      bool good = false;
      if (*key == "descr") {
        const auto descr = string();
        good = descr.has_value();
        header.descr = descr.value_or("");
      } else if (*key == "fortran_order") {
        header.fortran_order = word("True");
        good = header.fortran_order || word("False");
      } else if (*key == "shape") {
        good = tuple(header.dims);
      }
      if (!good || (!take(',') && !peek('}'))) {
        return std::nullopt;
      }
    }
    skip_spaces();
    return seen.size() == 3 && text_.empty() ? std::optional(header) : std::nullopt;
  }

 private:
  void skip_spaces() { text_.remove_prefix(std::min(text_.find_first_not_of(" \n"), text_.size())); }
  bool peek(char c) {
    skip_spaces();
    return text_.starts_with(c);
  }
  bool take(char c) {
    const bool there = peek(c);
    text_.remove_prefix(there ? 1 : 0);
    return there;
  }
  bool word(std::string_view wanted) {
    skip_spaces();
    const bool there = text_.starts_with(wanted);
    text_.remove_prefix(there ? wanted.size() : 0);
    return there;
  }
  std::optional<std::string> string() {
    const char quote = peek('"') ? '"' : '\'';
    if (!take(quote)) {
      return std::nullopt;
    }
    const size_t end = text_.find(quote);
    if (end == std::string_view::npos) {
      return std::nullopt;
    }
    std::string result(text_.substr(0, end));
    text_.remove_prefix(end + 1);
    return result;
  }
  bool tuple(std::vector<int64_t>& dims) {
    if (!take('(')) {
      return false;
    }
    while (!take(')')) {
      skip_spaces();
      int64_t size = 0;
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), size);
      if (error != std::errc() || size < 0) {
        return false;
      }
      text_.remove_prefix(static_cast<size_t>(end - text_.data()));
      dims.push_back(size);
      if (!take(',') && !peek(')')) {
        return false;
      }
    }
    return true;
  }

  std::string_view text_;
};

Dtype dtype_of_code(const std::string& path, const std::string& code) {
  for (const NpyType& type : kTypes) {
    // Where order does not matter, and for the machine's own, NumPy has several signs.
    if (code == type.code || (code.size() == 3 && (code[0] == '|' || code[0] == '=') &&
                              code.substr(1) == type.code.substr(1) && (code[0] == '=' || type.code[0] == '|'))) {
      return type.dtype;
    }
  }
  fail("{}: the elements are `{}`, which Tenon does not read; it reads little-endian floats, integers and booleans",
       path, code);
}

std::string read_header(const std::string& path, std::ifstream& file) {
  std::array<char, 8> start{};
  if (!file.read(start.data(), start.size()) || std::string_view(start.data(), kMagic.size()) != kMagic) {
    fail("{}: this is no .npy file", path);
  }
  const int version = start[6];
  if (version < 1 || version > 3) {
    fail("{}: a .npy file of version {}; there are 1 to 3", path, version);
  }
  std::array<char, 4> length_bytes{};
  const int length_size = version == 1 ? 2 : 4;
  size_t length = 0;
  if (file.read(length_bytes.data(), length_size)) {
    for (int i = length_size; i-- > 0;) {
      length = length << 8 | static_cast<unsigned char>(length_bytes[static_cast<size_t>(i)]);
    }
  }
  if (length > kMostHeader) {
    fail("{}: a header of {} bytes; at most {} are read", path, length, kMostHeader);
  }
  std::string header(length, '\0');
  if (!file.read(header.data(), static_cast<std::streamsize>(length))) {
    fail("{}: the file ends in the middle of its header", path);
  }
  return header;
}

/// Elements in Fortran order, put in C order.
Array reordered(const Array& fortran, const std::vector<int64_t>& dims) {
  Array result = Array::uninitialized(fortran.dtype(), dims);
  const size_t width = byte_size(fortran.dtype());
  const std::byte* from = fortran.data();
  std::byte* to = result.mutable_data();
  std::vector<int64_t> strides(dims.size(), 1);  // of C order
  for (size_t i = dims.size(); i-- > 1;) {
    strides[i - 1] = strides[i] * dims[i];
  }
  std::vector<int64_t> at(dims.size(), 0);
  int64_t offset = 0;
  for (int64_t i = 0; i < result.size(); ++i) {
    std::copy_n(from + static_cast<size_t>(i) * width, width, to + static_cast<size_t>(offset) * width);
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      offset += strides[axis];
      if (++at[axis] < dims[axis]) {
        break;
      }
      offset -= strides[axis] * dims[axis];
      at[axis] = 0;
    }
  }
  return result;
}

}  // namespace

Array read_npy(const std::filesystem::path& path) {
  const std::string name = path.string();
  const auto file_size = static_cast<uintmax_t>(regular_file_size(path));
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    fail("{}: cannot read this file", name);
  }
  const std::string text = read_header(name, file);
  const auto header = HeaderParser(text).parse();
  if (!header) {
    fail("{}: the header is not what NumPy writes: one descr, fortran_order and shape each", name);
  }
  const Dtype dtype = dtype_of_code(name, header->descr);
  const auto data = static_cast<uintmax_t>(file.tellg());
  // Sizes are checked against the file before anything is allocated.
  uintmax_t bytes = byte_size(dtype);
  for (const int64_t size : header->dims) {
    if (__builtin_mul_overflow(bytes, static_cast<uintmax_t>(size), &bytes)) {
      bytes = UINTMAX_MAX;
      break;
    }
  }
  if (std::ranges::find(header->dims, 0) != header->dims.end()) {
    bytes = 0;
  }
  if (file_size - data != bytes) {
    fail("{}: the header tells of ({}) elements of `{}`, but {} bytes follow it", name, fmt::join(header->dims, ", "),
         header->descr, file_size - data);
  }
  Array array = Array::uninitialized(dtype, header->dims);
  if (!file.read(reinterpret_cast<char*>(array.mutable_data()), static_cast<std::streamsize>(array.byte_count()))) {
    fail("{}: cannot read this file", name);
  }
  if (dtype == boolean) {
    const std::byte* begin = array.data();
    if (std::any_of(begin, begin + array.byte_count(), [](std::byte b) { return b > std::byte{1}; })) {
      fail("{}: a boolean that is neither 0 nor 1", name);
    }
  }
  return header->fortran_order && header->dims.size() > 1 ? reordered(array, header->dims) : array;
}

void write_npy(const std::filesystem::path& path, const Array& array) {
  const Array stored = array.dtype() == bf16 ? array.cast(f32) : array;
  const auto* type = std::ranges::find(kTypes, stored.dtype(), &NpyType::dtype);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", type->code,
                                   fmt::join(stored.dims(), ", "), stored.rank() == 1 ? "," : "");
  const size_t start = kMagic.size() + 4;
  header.append((kAlignment - (start + header.size() + 1) % kAlignment) % kAlignment, ' ');
  header += '\n';
  const std::string before =
      fmt::format("{}{}{}{}{}{}", kMagic, '\x01', '\x00', static_cast<char>(header.size() & 0xff),
                  static_cast<char>(header.size() >> 8), header);
  NewFile file(path.string());
  file.write(std::as_bytes(std::span(before)));
  file.write({stored.data(), static_cast<size_t>(stored.byte_count())});
  file.put_in_place(false);
}

}  // namespace tenon::cli
