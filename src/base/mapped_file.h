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

/// Takes from this process those pages of the memory that are a file's and that nobody wrote: they count no longer, and
/// are read again when somebody touches them. For weights of which another form is there now. Anything else stays as it
/// is, and all of it where the system does not tell pages apart.
void release_clean_pages(const std::byte* data, size_t bytes);

}  // namespace tenon
