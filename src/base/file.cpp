#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/fail.h"

namespace tenon {

File::File(std::string path) : path_(std::move(path)), descriptor_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (descriptor_ < 0) {
    fail("cannot open `{}`: {}", path_, std::strerror(errno));
  }
}

File::~File() { ::close(descriptor_); }

int64_t File::size() const {
  struct stat status = {};
  return ::fstat(descriptor_, &status) == 0 ? static_cast<int64_t>(status.st_size) : 0;
}

void File::read(int64_t offset, std::span<std::byte> bytes) const {
  const auto wanted = bytes.size();
  while (!bytes.empty()) {
    const ssize_t count = ::pread(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      fail("cannot read `{}`: {}", path_, std::strerror(errno));
    }
    if (count == 0) {
      fail("`{}` has {} bytes: it ends before the {} that are read", path_, size(), wanted);
    }
    bytes = bytes.subspan(static_cast<size_t>(count));
    offset += count;
  }
}

}  // namespace tenon
