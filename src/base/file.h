// An open file.
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

}  // namespace tenon
