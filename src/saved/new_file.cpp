#include "saved/new_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/fail.h"

namespace tenon::saved {
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

}  // namespace

NewFile::NewFile(std::string path) : path_(std::move(path)) {
  struct stat there = {};
  if (::stat(path_.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {
    fail("cannot write `{}`: it is no ordinary file", path_);
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

void NewFile::fail_to_write() const { fail("cannot write `{}`: {}", path_, std::strerror(errno)); }

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

}  // namespace tenon::saved
