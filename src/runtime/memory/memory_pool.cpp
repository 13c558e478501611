#include "runtime/memory/memory_pool.h"

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
constexpr int64_t kPage = 4096;

struct SizeClass {
  size_t index = 0;
  int64_t bytes = 0;
};

SizeClass size_class(uint64_t bytes) {
  const uint64_t power = std::bit_ceil(std::max(bytes, kSmallest));
  const auto log = static_cast<size_t>(std::countr_zero(power));
  const uint64_t three_quarters = power / 4 * 3;
  return bytes <= three_quarters && power > kSmallest ? SizeClass{2 * log, static_cast<int64_t>(three_quarters)}
                                                      : SizeClass{2 * log + 1, static_cast<int64_t>(power)};
}

enum class Use : uint64_t { in_use = 0x7e4073a11ce5, idle = 0x51ee9b10c };

/// What stands before each block.
struct alignas(64) Header {
  Use use = Use::in_use;
  SizeClass size;
};

std::byte* block_of(Header* header) { return reinterpret_cast<std::byte*>(header + 1); }
Header* header_of(std::byte* block) { return reinterpret_cast<Header*>(block) - 1; }

Header* allocate(const SizeClass& size) {
  std::byte* const memory = allocate_aligned(sizeof(Header) + static_cast<size_t>(size.bytes));
  return new (memory) Header{.use = Use::in_use, .size = size};
}

void free_block(Header* header) { free_aligned(reinterpret_cast<std::byte*>(header)); }

struct Idle {
  Header* header = nullptr;
  uint64_t since = 0;
};

}  // namespace

class MemoryPool::State {
 public:
  explicit State(int64_t limit) : limit_(limit) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    for (const std::vector<Idle>& blocks : free_) {
      for (const Idle& idle : blocks) {
        free_block(idle.header);
      }
    }
  }

  /// Null when none waits.
  Header* reuse(const SizeClass& wanted) {
    const std::lock_guard lock(mutex_);
    std::vector<Idle>& blocks = free_.at(wanted.index);
    if (blocks.empty()) {
      return nullptr;
    }
    Header* const header = blocks.back().header;
    blocks.pop_back();
    counters_.idle -= wanted.bytes;
    header->use = Use::in_use;
    return header;
  }

  void count_new(const SizeClass& size) {
    const std::lock_guard lock(mutex_);
    counters_.total += size.bytes;
    counters_.peak = std::max(counters_.peak, counters_.total);
  }

  void release(Header* header) {
    const std::lock_guard lock(mutex_);
    TENON_CHECK(header->use == Use::in_use, "a block of memory was given back twice");
    header->use = Use::idle;
    const SizeClass size = header->size;
    if (size.bytes > limit_ || !remember(header)) {
      counters_.total -= size.bytes;
      free_block(header);
      return;
    }
    counters_.idle += size.bytes;
    trim();
  }

  void set_limit(int64_t limit) {
    const std::lock_guard lock(mutex_);
    limit_ = std::max<int64_t>(0, limit);
    trim();
  }

  int64_t limit() const {
    const std::lock_guard lock(mutex_);
    return limit_;
  }

  Counters counters() const {
    const std::lock_guard lock(mutex_);
    return counters_;
  }

 private:
  bool remember(Header* header) {
    try {
      free_.at(header->size.index).push_back({header, ++clock_});
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }

  /// What waits longest goes first. Of one size that is the first of its list.
  void trim() {
    while (counters_.idle > limit_) {
      std::vector<Idle>* oldest = nullptr;
      for (std::vector<Idle>& blocks : free_) {
        if (!blocks.empty() && (oldest == nullptr || blocks.front().since < oldest->front().since)) {
          oldest = &blocks;
        }
      }
      Header* const header = oldest->front().header;
      oldest->erase(oldest->begin());
      counters_.idle -= header->size.bytes;
      counters_.total -= header->size.bytes;
      free_block(header);
    }
  }

  mutable std::mutex mutex_;
  int64_t limit_ = 0;
  uint64_t clock_ = 0;
  Counters counters_;
  std::array<std::vector<Idle>, kClasses> free_ = {};
};

MemoryPool::MemoryPool(int64_t idle_limit) : state_(std::make_shared<State>(idle_limit)) {}

std::byte* MemoryPool::acquire(int64_t bytes) {
  const SizeClass wanted = size_class(static_cast<uint64_t>(bytes));
  Header* header = state_->reuse(wanted);
  if (header == nullptr) {
    try {
      header = allocate(wanted);
    } catch (const std::bad_alloc&) {
      fail("no memory for {} bytes", bytes);
    }
    state_->count_new(wanted);
  }
  return block_of(header);
}

void MemoryPool::release(std::byte* block) { state_->release(header_of(block)); }

std::shared_ptr<std::byte[]> MemoryPool::take(int64_t bytes) {
  try {
    return {acquire(bytes), [state = state_](std::byte* block) { state->release(header_of(block)); }};
  } catch (const std::bad_alloc&) {
    fail("no memory for {} bytes", bytes);
  }
}

void MemoryPool::prepare(std::span<const int64_t> sizes) {
  int64_t all = 0;
  for (const int64_t bytes : sizes) {
    all += size_class(static_cast<uint64_t>(bytes)).bytes;
  }
  if (all > state_->limit()) {
    return;
  }
  std::vector<std::byte*> blocks;
  blocks.reserve(sizes.size());
  for (const int64_t bytes : sizes) {
    const SizeClass wanted = size_class(static_cast<uint64_t>(bytes));
    if (Header* const idle = state_->reuse(wanted)) {
      blocks.push_back(block_of(idle));
      continue;
    }
    std::byte* const fresh = acquire(bytes);
    for (int64_t at = 0; at < wanted.bytes; at += kPage) {
      fresh[at] = std::byte{0};  // the first write is what takes time
    }
    blocks.push_back(fresh);
  }
  for (std::byte* const block : blocks) {
    release(block);
  }
}

void MemoryPool::set_idle_limit(int64_t bytes) { state_->set_limit(bytes); }

MemoryPool::Counters MemoryPool::counters() const { return state_->counters(); }

}  // namespace tenon::runtime
