#include "base/read_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "base/fail.h"

namespace tenon {

namespace fs = std::filesystem;

int64_t regular_file_size(const fs::path& file) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  switch (status.type()) {
    case fs::file_type::regular: break;
    case fs::file_type::not_found: fail("there is no file `{}`", file.string());
    case fs::file_type::directory: fail("`{}` is a folder, not a file", file.string());
    case fs::file_type::none: fail("cannot read the file `{}`: {}", file.string(), error.message());
    default: fail("`{}` is no regular file: devices, pipes and sockets are not read", file.string());
  }
  const uintmax_t size = fs::file_size(file, error);
  if (error) {
    fail("cannot read the file `{}`: {}", file.string(), error.message());
  }
  return static_cast<int64_t>(size);
}

int64_t require_file_size(const fs::path& file, int64_t most, std::string_view remedy) {
  const int64_t size = regular_file_size(file);
  if (size > most) {
    fail("the file `{}` has {} bytes, and at most {} are read{}", file.string(), size, most, remedy);
  }
  return size;
}

std::string read_file(const fs::path& file, int64_t most, std::string_view remedy) {
  const int64_t size = require_file_size(file, most, remedy);
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    fail("cannot read the file `{}`: {}", file.string(), std::strerror(errno));
  }
  std::string bytes(static_cast<size_t>(size), '\0');
  stream.read(bytes.data(), static_cast<std::streamsize>(size));
  bytes.resize(static_cast<size_t>(stream.gcount()));  // a file that shrinks meanwhile
  return bytes;
}

}  // namespace tenon
