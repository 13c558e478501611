#include "runtime/memory_pool.h"

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>
#include <new>
#include <vector>

#include "base/aligned.h"
#include "base/fail.h"

namespace tenon::runtime {
namespace {

constexpr uint64_t kSmallest = 64;
constexpr size_t kClasses = 128;

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

}  // namespace

struct MemoryPool::State {
  std::mutex mutex;
  int64_t idle_limit = 0;
  int64_t idle = 0;
  std::array<std::vector<std::byte*>, kClasses> free = {};

  ~State() {
    for (const std::vector<std::byte*>& blocks : free) {
      for (std::byte* block : blocks) {
        free_aligned(block);
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
      free_aligned(block);
    } catch (const std::bad_alloc&) {  // no memory to remember it by
      free_aligned(block);
    }
  }
};

MemoryPool::MemoryPool(int64_t idle_limit) : state_(std::make_shared<State>()) { state_->idle_limit = idle_limit; }

std::shared_ptr<std::byte[]> MemoryPool::take(int64_t bytes) {
  const SizeClass wanted = size_class(static_cast<uint64_t>(bytes));
  std::byte* block = state_->reuse(wanted);
  try {
    if (block == nullptr) {
      block = allocate_aligned(wanted.bytes);
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
