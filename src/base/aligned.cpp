#include "base/aligned.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>

namespace tenon {
namespace {

constexpr size_t kLarge = size_t{4} << 20;  // from here on, large pages are asked for
constexpr size_t kPage = size_t{2} << 20;

}  // namespace

// Kernels stream through large blocks, and do so faster where the system maps them in large pages; it does that for
// whole ones alone, and by itself or on request.
std::byte* allocate_aligned(size_t bytes) {
  auto* const block = static_cast<std::byte*>(::operator new(std::max<size_t>(bytes, 1), kElementAlignment));
#ifdef MADV_HUGEPAGE
  if (bytes >= kLarge) {
    const auto address = reinterpret_cast<uintptr_t>(block);
    const uintptr_t begin = (address + kPage - 1) / kPage * kPage;
    const uintptr_t end = (address + bytes) / kPage * kPage;
    ::madvise(block + (begin - address), end - begin, MADV_HUGEPAGE);  // a hint: nothing depends on its result
  }
#endif
  return block;
}

}  // namespace tenon
