#include "base/mapped_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/fail.h"

namespace tenon {

std::shared_ptr<std::byte[]> map_file(const File& file, const std::string& path, int64_t offset, int64_t bytes) {
  if (offset < 0 || bytes < 0 || offset > file.size() || bytes > file.size() - offset) {
    fail("`{}` has {} bytes, not {} from {} on", path, file.size(), bytes, offset);
  }
  if (bytes == 0) {
    return std::shared_ptr<std::byte[]>(new std::byte[1]);  // nothing can be mapped of nothing
  }
  const int64_t page = ::sysconf(_SC_PAGESIZE);
  const int64_t begin = offset / page * page;
  const auto length = static_cast<size_t>(offset - begin + bytes);
  void* const mapped = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE, file.descriptor(), begin);
  if (mapped == MAP_FAILED && errno == ENODEV) {
    fail("`{}` is a folder or a device, not a file", path);
  }
  if (mapped == MAP_FAILED) {
    fail("cannot map `{}`: {}", path, std::strerror(errno));
  }
  const std::shared_ptr<void> whole(mapped, [length](void* memory) { ::munmap(memory, length); });
  return {whole, static_cast<std::byte*>(mapped) + (offset - begin)};
}

std::shared_ptr<std::byte[]> map_file(const std::string& path, int64_t offset, int64_t bytes) {
  return map_file(File(path), path, offset, bytes);
}

MappedFile map_file(const std::string& path) {
  const File file(path);
  const int64_t bytes = file.size();
  return {.memory = map_file(file, path, 0, bytes), .bytes = bytes};
}

}  // namespace tenon
