// Files that are read in pieces, and files that appear whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tenon {

/// Of reading; closed when it goes. Errors name the path.
class File {
 public:
  explicit File(std::string path);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int descriptor() const { return descriptor_; }
  int64_t size() const;
  /// The bytes from `offset` on. Error: there are fewer.
  void read(int64_t offset, std::span<std::byte> bytes) const;

 private:
  std::string path_;
  int descriptor_;
};

/// A file that appears whole or not at all: written beside its path under a name of its own, and renamed. Where the
/// path is a symbolic link, that stays and its file is replaced. What was not put in place goes with the object. Errors
/// name the path.
class NewFile {
 public:
  /// `called` is the path that errors name, where it is another.
  explicit NewFile(const std::string& path, const std::string& called = {});
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::span<const std::byte> bytes);
  /// Under its path, in the place of what was there; where `durable`, when it is on disk.
  void put_in_place(bool durable = true);

 private:
  [[noreturn]] void fail_to_write() const;

  std::string called_;
  std::string path_;
  std::string beside_;  // empty: it has no name yet, so that nothing is left of it however this process ends
  int descriptor_ = -1;
};

}  // namespace tenon
