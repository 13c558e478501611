// Files as memory: pages are read when they are touched, and shared between processes until somebody writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/file.h"

namespace tenon {

/// `bytes` of the file from `offset` on, as memory that Array::adopt() takes; unmapped when its last pointer goes. What
/// is written there stays in this process. Error: the file cannot be opened, or ends before; it names the file.
std::shared_ptr<std::byte[]> map_file(const std::string& path, int64_t offset, int64_t bytes);
/// The same of a file that is open, which errors call `path`.
std::shared_ptr<std::byte[]> map_file(const File& file, const std::string& path, int64_t offset, int64_t bytes);

struct MappedFile {
  std::shared_ptr<std::byte[]> memory;
  int64_t bytes = 0;
};

/// All of a file: that which has the path now, also where another takes its place meanwhile.
MappedFile map_file(const std::string& path);

}  // namespace tenon
