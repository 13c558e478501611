// The memory of the GPU, and who touched which byte of it when.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace tenon::emulated_gpu {

/// Between two barriers a block is in one interval; intervals are numbered in the order in which they ran, over all
/// blocks and launches.
struct Now {
  uint32_t launch = 0;    // the first interval of the launch,
  uint32_t block = 0;     // of the block,
  uint32_t interval = 0;  // and the one that runs
  uint16_t thread = 0;    // of the block
};

/// The last accesses of a byte.
struct Touched {
  uint32_t write = 0;  // interval
  uint32_t read = 0;
  uint32_t read_by_other_block = 0;  // the launch in which another block than that of `read` read it
  uint16_t writer = 0;               // threads
  uint16_t reader = 0;

  static constexpr uint16_t kMany = 0xffff;
};

enum class Access : uint8_t { read, cached_read, write, atomic };

/// Note an access. What it races with, of an earlier one; null: nothing. Atomic ones are in no order and do not race.
const char* touch(Touched* bytes, size_t count, Access access, const Now& now);

/// Addresses are those of the process. An address is given again only when all others were, so that accesses of memory
/// that was released are found.
class DeviceMemory {
 public:
  DeviceMemory();
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  void set_limit(uint64_t bytes) { limit_ = bytes; }
  uint64_t limit() const { return limit_; }
  int64_t live() const { return live_; }  // allocations
  uint64_t used() const { return used_; }

  /// 0: there is no more. What is in it is no number.
  uint64_t allocate(uint64_t bytes);
  /// Why it cannot be released; empty: it was.
  std::string release(uint64_t address);

  struct Part {
    uint64_t begin = 0;
    uint64_t end = 0;
  };
  /// The allocation around these bytes. Throws Fault: there is none.
  Part part(uint64_t address, uint64_t bytes) const;

  Touched* touched(uint64_t address) { return touched_ + (address - begin_); }

 private:
  struct Allocation {
    uint64_t bytes = 0;
    bool is_live = true;
  };

  uint64_t limit_ = 0;
  uint64_t used_ = 0;
  int64_t live_ = 0;
  uint64_t begin_ = 0;
  uint64_t next_ = 0;
  Touched* touched_ = nullptr;
  std::map<uint64_t, Allocation> allocations_;
};

}  // namespace tenon::emulated_gpu
