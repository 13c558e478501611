#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

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

void release_clean_pages([[maybe_unused]] const std::byte* data, [[maybe_unused]] size_t bytes) {
#ifdef __linux__
  // What the kernel says of a page, in 64 bits: https://docs.kernel.org/admin-guide/mm/pagemap.html
  constexpr uint64_t is_here = uint64_t{1} << 63;
  constexpr uint64_t is_swapped = uint64_t{1} << 62;
  constexpr uint64_t is_of_file = uint64_t{1} << 61;  // and not a copy that was written
  constexpr size_t together = 4096;                   // pages that are looked at in one call
  const int pagemap = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (pagemap < 0) {
    return;
  }
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t before = reinterpret_cast<uintptr_t>(data) % page;
  const uintptr_t number = reinterpret_cast<uintptr_t>(data) / page;  // of the first page
  auto* const begin = const_cast<std::byte*>(data) - before;
  const size_t pages = (before + bytes + page - 1) / page;
  std::vector<uint64_t> entries(together);
  for (size_t first = 0; first < pages; first += together) {
    const size_t count = std::min(together, pages - first);
    const size_t size = count * sizeof(uint64_t);
    if (::pread(pagemap, entries.data(), size, static_cast<off_t>((number + first) * sizeof(uint64_t))) !=
        static_cast<ssize_t>(size)) {
      break;
    }
    for (size_t i = 0; i < count;) {
      size_t last = i;
      while (last < count && (entries[last] & (is_here | is_swapped | is_of_file)) == (is_here | is_of_file)) {
        ++last;
      }
      if (last > i) {
        ::madvise(begin + (first + i) * page, (last - i) * page, MADV_DONTNEED);
      }
      i = std::max(last, i + 1);
    }
  }
  ::close(pagemap);
#endif
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
