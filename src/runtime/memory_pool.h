// Memory that is used again by the next run instead of going back to the system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace tenon::runtime {

/// Blocks come in sizes of a power of two and 1.5 times that, begin at a multiple of 64 bytes and hold any values. A
/// block goes back when its last pointer goes, which may be after the pool. At most `idle_limit` bytes wait for use.
/// Safe for any number of threads.
class MemoryPool {
 public:
  explicit MemoryPool(int64_t idle_limit);

  /// At least `bytes`, and never null; an Error when there is no memory.
  std::shared_ptr<std::byte[]> take(int64_t bytes);

  int64_t idle_bytes() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace tenon::runtime
