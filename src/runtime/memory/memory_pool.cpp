#include "runtime/memory/memory_pool.h"

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "base/fail.h"
#include "base/refused.h"

namespace tenon::runtime {
namespace {

constexpr uint64_t kSmallest = 64;
constexpr size_t kClasses = 128;

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

enum class Use : uint8_t { in_use, idle };

struct Idle {
  MemoryPool::Block* block = nullptr;
  uint64_t since = 0;
};

}  // namespace

struct MemoryPool::Block {
  std::byte* memory = nullptr;
  SizeClass size;
  Use use = Use::in_use;
};

class MemoryPool::State {
 public:
  State(int64_t limit, std::shared_ptr<devices::Device> device) : device_(std::move(device)), limit_(limit) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    for (const std::vector<Idle>& blocks : free_) {
      for (const Idle& idle : blocks) {
        free_block(idle.block);
      }
    }
  }

  /// Throws std::bad_alloc where there is no memory, not even what waits for use.
  Block* allocate(const SizeClass& size) {
    auto block = std::make_unique<Block>(Block{.memory = nullptr, .size = size});
    try {
      block->memory = device_->allocate(size.bytes);
    } catch (const std::bad_alloc&) {
      if (!give_back_idle()) throw;
      block->memory = device_->allocate(size.bytes);
    }
    count_new(size);
    return block.release();
  }

  devices::Device& device() const { return *device_; }

  /// Null when none waits.
  Block* reuse(const SizeClass& wanted) {
    const std::lock_guard lock(mutex_);
    std::vector<Idle>& blocks = free_.at(wanted.index);
    if (blocks.empty()) {
      return nullptr;
    }
    Block* const block = blocks.back().block;
    blocks.pop_back();
    counters_.idle -= wanted.bytes;
    block->use = Use::in_use;
    return block;
  }

  void release(Block* block) {
    const std::lock_guard lock(mutex_);
    TENON_CHECK(block->use == Use::in_use, "a block of memory was given back twice");
    block->use = Use::idle;
    const SizeClass size = block->size;
    if (size.bytes > limit_ || !remember(block)) {
      counters_.total -= size.bytes;
      free_block(block);
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
  /// Whether there was any.
  bool give_back_idle() {
    const std::lock_guard lock(mutex_);
    if (counters_.idle == 0) return false;
    const int64_t limit = std::exchange(limit_, 0);
    trim();
    limit_ = limit;
    return true;
  }

  void count_new(const SizeClass& size) {
    const std::lock_guard lock(mutex_);
    counters_.total += size.bytes;
    counters_.peak = std::max(counters_.peak, counters_.total);
  }

  void free_block(Block* block) {
    device_->release(block->memory);
    delete block;
  }

  bool remember(Block* block) {
    try {
      free_.at(block->size.index).push_back({block, ++clock_});
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
      Block* const block = oldest->front().block;
      oldest->erase(oldest->begin());
      counters_.idle -= block->size.bytes;
      counters_.total -= block->size.bytes;
      free_block(block);
    }
  }

  const std::shared_ptr<devices::Device> device_;
  mutable std::mutex mutex_;
  int64_t limit_ = 0;
  uint64_t clock_ = 0;
  Counters counters_;
  std::array<std::vector<Idle>, kClasses> free_ = {};
};

MemoryPool::MemoryPool(int64_t idle_limit, std::shared_ptr<devices::Device> device)
    : state_(std::make_shared<State>(idle_limit, std::move(device))) {}

MemoryPool::Block* MemoryPool::acquire(int64_t bytes) {
  const SizeClass wanted = size_class(static_cast<uint64_t>(bytes));
  if (Block* const idle = state_->reuse(wanted)) {
    return idle;
  }
  try {
    return state_->allocate(wanted);
  } catch (const std::bad_alloc&) {
    refuse("no memory for {} bytes beside the {} that runs of this program use", bytes,
           state_->counters().total - state_->counters().idle);
  }
}

void MemoryPool::release(Block* block) { state_->release(block); }

std::byte* MemoryPool::memory_of(const Block* block) { return block->memory; }

std::shared_ptr<std::byte[]> MemoryPool::take(int64_t bytes) {
  Block* const block = acquire(bytes);
  try {
    return {block->memory, [state = state_, block](std::byte* /*memory*/) { state->release(block); }};
  } catch (const std::bad_alloc&) {  // the block was released
    refuse("no memory for {} bytes", bytes);
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
  std::vector<Block*> blocks;
  blocks.reserve(sizes.size());
  for (const int64_t bytes : sizes) {
    const SizeClass wanted = size_class(static_cast<uint64_t>(bytes));
    if (Block* const idle = state_->reuse(wanted)) {
      blocks.push_back(idle);
      continue;
    }
    Block* const fresh = acquire(bytes);
    state_->device().touch(fresh->memory, wanted.bytes);
    blocks.push_back(fresh);
  }
  for (Block* const block : blocks) {
    release(block);
  }
}

void MemoryPool::set_idle_limit(int64_t bytes) { state_->set_limit(bytes); }

MemoryPool::Counters MemoryPool::counters() const { return state_->counters(); }

}  // namespace tenon::runtime
