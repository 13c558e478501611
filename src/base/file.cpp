#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/fail.h"

namespace tenon {
namespace {

constexpr mode_t kMode = 0666;  // less what the user's mask takes away

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

std::string name_beside(const std::string& path) {
  static std::atomic<int> count = 0;
  return fmt::format("{}.{}-{}.part", path, ::getpid(), count++);
}

/// What a symbolic link leads to; the path itself where it is none, or leads nowhere.
std::string without_link(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_symlink(path, error)) return path;
  const std::filesystem::path target = std::filesystem::canonical(path, error);
  return error ? path : target.string();
}

}  // namespace

// O_NONBLOCK: to open a pipe would wait for who writes it.
File::File(std::string path)
    : path_(std::move(path)), descriptor_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (descriptor_ < 0) {
    fail("cannot open `{}`: {}", path_, std::strerror(errno));
  }
  struct stat status = {};
  if (::fstat(descriptor_, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
    ::close(descriptor_);
    fail("`{}` is no regular file: devices, pipes and sockets are not read", path_);
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

NewFile::NewFile(const std::string& path, const std::string& called)
    : called_(called.empty() ? path : called), path_(without_link(path)) {
  struct stat there = {};
  if (::stat(path_.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {
    fail("cannot write `{}`: it is no ordinary file", called_);
  }
  descriptor_ = ::open(folder_of(path_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, kMode);
  if (descriptor_ < 0) {  // not every file system has such files
    beside_ = name_beside(path_);
    descriptor_ = ::open(beside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMode);
  }
  if (descriptor_ < 0) {
    beside_.clear();
    fail_to_write();
  }
}

NewFile::~NewFile() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
  if (!beside_.empty()) {
    ::unlink(beside_.c_str());
  }
}

void NewFile::fail_to_write() const { fail("cannot write `{}`: {}", called_, std::strerror(errno)); }

void NewFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      fail_to_write();
    }
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
}

void NewFile::put_in_place(bool durable) {
  if (durable && ::fsync(descriptor_) != 0) {
    fail_to_write();
  }
  if (beside_.empty()) {
    const std::string name = name_beside(path_);
    const std::string own = fmt::format("/proc/self/fd/{}", descriptor_);
    if (::linkat(AT_FDCWD, own.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0) {
      fail_to_write();
    }
    beside_ = name;
  }
  if (std::rename(beside_.c_str(), path_.c_str()) != 0) {
    fail_to_write();
  }
  beside_.clear();
}

}  // namespace tenon
