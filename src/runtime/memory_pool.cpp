#include "runtime/memory_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>
#include <new>
#include <vector>

#include "base/fail.h"

namespace tenon::runtime {
namespace {

constexpr std::align_val_t kAlignment{64};
constexpr uint64_t kSmallest = 64;
constexpr size_t kClasses = 128;
constexpr uint64_t kLarge = uint64_t{4} << 20;  // from here on, large pages are asked for
constexpr uint64_t kPage = uint64_t{2} << 20;

struct SizeClass {
  size_t index = 0;
  uint64_t bytes = 0;
};

SizeClass size_class(uint64_t bytes) {
  const uint64_t power = std::bit_ceil(std::max(bytes, kSmallest));
  const auto log = static_cast<size_t>(std::countr_zero(power));
  const uint64_t three_quarters = power / 4 * 3;
  return bytes <= three_quarters && power > kSmallest ? SizeClass{2 * log, three_quarters}
                                                      : SizeClass{2 * log + 1, power};
}

/// New memory. Kernels stream through large blocks, and do so faster where the system maps them in large pages; it does
/// that for whole ones alone, and by itself or on request.
std::byte* allocate(uint64_t bytes) {
  auto* const block = static_cast<std::byte*>(::operator new(bytes, kAlignment));
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

}  // namespace

struct MemoryPool::State {
  std::mutex mutex;
  int64_t idle_limit = 0;
  int64_t idle = 0;
  std::array<std::vector<std::byte*>, kClasses> free = {};

  ~State() {
    for (const std::vector<std::byte*>& blocks : free) {
      for (std::byte* block : blocks) {
        ::operator delete(block, kAlignment);
      }
    }
  }

  std::byte* reuse(const SizeClass& wanted) {
    const std::lock_guard lock(mutex);
    std::vector<std::byte*>& blocks = free.at(wanted.index);
    if (blocks.empty()) {
      return nullptr;
    }
    std::byte* block = blocks.back();
    blocks.pop_back();
    idle -= static_cast<int64_t>(wanted.bytes);
    return block;
  }

  void give_back(std::byte* block, const SizeClass& from) {
    try {
      const std::lock_guard lock(mutex);
      if (idle + static_cast<int64_t>(from.bytes) <= idle_limit) {
        free.at(from.index).push_back(block);
        idle += static_cast<int64_t>(from.bytes);
        return;
      }
      ::operator delete(block, kAlignment);
    } catch (const std::bad_alloc&) {  // no memory to remember it by
      ::operator delete(block, kAlignment);
    }
  }
};

MemoryPool::MemoryPool(int64_t idle_limit) : state_(std::make_shared<State>()) { state_->idle_limit = idle_limit; }

std::shared_ptr<std::byte[]> MemoryPool::take(int64_t bytes) {
  const SizeClass wanted = size_class(static_cast<uint64_t>(bytes));
  std::byte* block = state_->reuse(wanted);
  try {
    if (block == nullptr) {
      block = allocate(wanted.bytes);
    }
    return {block, [state = state_, wanted](std::byte* p) { state->give_back(p, wanted); }};
  } catch (const std::bad_alloc&) {
    fail("no memory for {} bytes", bytes);
  }
}

int64_t MemoryPool::idle_bytes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->idle;
}

}  // namespace tenon::runtime
