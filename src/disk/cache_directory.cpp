#include "disk/cache_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <system_error>

namespace tenon::disk {

namespace {

constexpr const char* kTemporaryPrefix = "writing-";
constexpr int64_t kAbandonedAfter = int64_t{3600} * 1'000'000'000;

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int get() const { return descriptor_; }
  bool open() const { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

std::string system_text(int error) { return std::generic_category().message(error); }

int64_t nanoseconds(const timespec& time) { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

int64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return nanoseconds(time);
}

// Like create_directories, with the mode that the specification of the user's directories asks for.
bool make_directories(const std::filesystem::path& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) == 0) return true;  // what it is is judged when it is opened
  if (path.has_parent_path() && path.parent_path() != path && !make_directories(path.parent_path())) return false;
  return ::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST;
}

bool write_all(int descriptor, std::span<const char> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

bool read_all(int descriptor, std::span<char> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::read(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

CacheDirectory::CacheDirectory(const std::string& path) {
  if (!make_directories(path)) {
    refusal_ = fmt::format("{} cannot be made: {}", path, system_text(errno));
    return;
  }
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) {
    refusal_ = fmt::format("{} cannot be opened: {}", path, system_text(errno));
    return;
  }
  // Code is read from here and run: whoever can write here can run code as us.
  struct stat info{};
  if (::fstat(descriptor, &info) != 0) {
    refusal_ = fmt::format("{} cannot be examined: {}", path, system_text(errno));
  } else if (info.st_uid != ::geteuid()) {
    refusal_ = fmt::format("{} belongs to another user", path);
  } else if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    refusal_ = fmt::format("{} is writable by others (mode {:o})", path, info.st_mode & 07777U);
  } else if (::faccessat(descriptor, ".", W_OK | X_OK, AT_EACCESS) != 0) {
    refusal_ = fmt::format("{} is not writable", path);
  } else {
    descriptor_ = descriptor;
    return;
  }
  ::close(descriptor);
}

CacheDirectory::~CacheDirectory() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::optional<std::vector<char>> CacheDirectory::read(const std::string& name, std::size_t byte_limit) const {
  const File file(::openat(descriptor_, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info{};
  if (!file.open() || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  const auto size = static_cast<std::size_t>(info.st_size);
  std::vector<char> bytes(size <= byte_limit ? size : 0);
  if (!read_all(file.get(), bytes)) return std::nullopt;
  ::futimens(file.get(), nullptr);
  return bytes;
}

bool CacheDirectory::write(const std::string& name, std::span<const char> head, std::span<const char> body) const {
  static std::atomic<uint64_t> serial = 0;
  // Processes of several containers may share both the directory and the process number, hence the time.
  const std::string temporary = fmt::format("{}{}-{}-{}", kTemporaryPrefix, ::getpid(), now(), ++serial);
  {
    const File file(::openat(descriptor_, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file.open()) return false;
    if (!write_all(file.get(), head) || !write_all(file.get(), body)) {
      remove(temporary);
      return false;
    }
  }
  if (::renameat(descriptor_, temporary.c_str(), descriptor_, name.c_str()) == 0) return true;
  remove(temporary);
  return false;
}

bool CacheDirectory::remove(const std::string& name) const { return ::unlinkat(descriptor_, name.c_str(), 0) == 0; }

std::vector<CacheFile> CacheDirectory::list(const std::string& suffix) const {
  std::vector<CacheFile> files;
  // A descriptor of its own: the position in the directory belongs to the open file.
  const int descriptor = ::openat(descriptor_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return files;
  DIR* const directory = ::fdopendir(descriptor);
  if (directory == nullptr) {
    ::close(descriptor);
    return files;
  }
  while (const dirent* const entry = ::readdir(directory)) {
    const std::string name = entry->d_name;
    const bool temporary = name.starts_with(kTemporaryPrefix);
    struct stat info{};
    if (!temporary && !name.ends_with(suffix)) continue;
    if (::fstatat(descriptor_, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode)) continue;
    if (!temporary) {
      files.push_back({name, static_cast<std::size_t>(info.st_size), nanoseconds(info.st_mtim)});
    } else if (now() - nanoseconds(info.st_mtim) > kAbandonedAfter) {
      remove(name);
    }
  }
  ::closedir(directory);
  return files;
}

}  // namespace tenon::disk
