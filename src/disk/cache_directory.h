// The files of a cache: one directory, private to the user, in which files appear and vanish whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tenon::disk {

/// What a scan saw of one file.
struct CacheFile {
  std::string name;
  std::size_t bytes = 0;
  int64_t used = 0;  ///< nanoseconds since 1970 of the last write or touch
};

/// An open directory. Nothing throws: false, nothing or an empty list say that the system refused. Many threads and
/// processes may use one directory.
class CacheDirectory {
 public:
  /// Open `path`, which is made (mode 0700, with its parents) where it does not exist. Refused when it belongs to
  /// another user or others may write to it.
  explicit CacheDirectory(const std::string& path);
  ~CacheDirectory();
  CacheDirectory(const CacheDirectory&) = delete;
  CacheDirectory& operator=(const CacheDirectory&) = delete;

  bool open() const { return descriptor_ >= 0; }
  /// Why it is not open.
  const std::string& refusal() const { return refusal_; }

  /// The bytes of a regular file, which counts as used now; no bytes when it has more than `byte_limit`.
  std::optional<std::vector<char>> read(const std::string& name, std::size_t byte_limit) const;
  /// Put a file in the place of `name`, whole or not at all.
  bool write(const std::string& name, std::span<const char> head, std::span<const char> body) const;
  bool remove(const std::string& name) const;
  /// The files whose names end in `suffix`. What writers left behind when they died is removed on the way.
  std::vector<CacheFile> list(const std::string& suffix) const;

 private:
  int descriptor_ = -1;
  std::string refusal_;
};

}  // namespace tenon::disk
