// Memory of a device that is used again by the next run instead of going back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "devices/device.h"

namespace tenon::runtime {

/// Blocks come in sizes of a power of two and 1.5 times that, begin at a multiple of 64 bytes and hold any values. At
/// most a limit of bytes waits for use; of these the ones that were used last stay longest. Safe for any number of
/// threads.
class MemoryPool {
 public:
  struct Counters {
    int64_t idle = 0;   // bytes that wait for use
    int64_t total = 0;  // and those in use
    int64_t peak = 0;   // the most that total ever was
  };

  /// What is known of a block, on the host.
  struct Block;

  explicit MemoryPool(int64_t idle_limit, std::shared_ptr<devices::Device> device);

  /// At least `bytes`, and never null; an Error when there is no memory.
  Block* acquire(int64_t bytes);
  /// A block of acquire(), once: TENON_CHECKs that it is in use.
  void release(Block* block);
  /// Where its memory is.
  static std::byte* memory_of(const Block* block);

  /// The same, released when its last pointer goes, which may be after the pool.
  std::shared_ptr<std::byte[]> take(int64_t bytes);

  /// Have blocks of all these sizes wait for use, mapped by the system, where the limit allows all of them.
  void prepare(std::span<const int64_t> sizes);

  void set_idle_limit(int64_t bytes);
  Counters counters() const;

 private:
  class State;
  std::shared_ptr<State> state_;
};

/// A block for as long as this lives; none of no bytes.
class PooledBlock {
 public:
  PooledBlock(MemoryPool& pool, int64_t bytes) : pool_(pool), block_(bytes > 0 ? pool.acquire(bytes) : nullptr) {}
  ~PooledBlock() {
    if (block_ != nullptr) {
      pool_.release(block_);
    }
  }
  PooledBlock(const PooledBlock&) = delete;
  PooledBlock& operator=(const PooledBlock&) = delete;

  std::byte* get() const { return block_ == nullptr ? nullptr : MemoryPool::memory_of(block_); }

 private:
  MemoryPool& pool_;
  MemoryPool::Block* block_;
};

}  // namespace tenon::runtime
