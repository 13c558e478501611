#include "device_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>

#include "fault.h"

namespace tenon::emulated_gpu {
namespace {

constexpr uint64_t kRegion = uint64_t{4} << 30;
constexpr uint64_t kAlign = 256;
constexpr uint64_t kGap = 512;  // between allocations
constexpr int kNoNumber = 0xff;

/// Memory that the system provides when it is touched.
void* reserve(uint64_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return memory;
}

}  // namespace

const char* touch(Touched* bytes, size_t count, Access access, const Now& now) {
  const auto of_other_block = [&](uint32_t interval) { return interval >= now.launch && interval < now.block; };
  const bool reads = access == Access::read || access == Access::cached_read;
  for (size_t i = 0; i < count; ++i) {
    Touched& byte = bytes[i];
    if (byte.write >= now.launch) {
      if (byte.write < now.block) return "another block of the launch writes it";
      if (byte.write == now.interval && byte.writer != now.thread) {
        return "another thread writes it between the same barriers";
      }
      if (access == Access::cached_read) return "the launch writes what it reads as constant";
    }
    if (reads) {
      if (of_other_block(byte.read)) byte.read_by_other_block = now.launch;
      byte.reader = byte.read == now.interval && byte.reader != now.thread ? Touched::kMany : now.thread;
      byte.read = now.interval;
    } else if (access == Access::write) {
      if (of_other_block(byte.read) || byte.read_by_other_block == now.launch) {
        return "another block of the launch reads it";
      }
      if (byte.read == now.interval && byte.reader != now.thread) {
        return "another thread reads it between the same barriers";
      }
      byte.write = now.interval;
      byte.writer = now.thread;
    }
  }
  return nullptr;
}

DeviceMemory::DeviceMemory()
    : begin_(reinterpret_cast<uint64_t>(reserve(kRegion))),
      next_(begin_),
      touched_(static_cast<Touched*>(reserve(kRegion * sizeof(Touched)))) {}

DeviceMemory::~DeviceMemory() {
  munmap(reinterpret_cast<void*>(begin_), kRegion);  // NOLINT(performance-no-int-to-ptr)
  munmap(touched_, kRegion * sizeof(Touched));
}

uint64_t DeviceMemory::allocate(uint64_t bytes) {
  const uint64_t needed = (bytes + kGap + kAlign - 1) / kAlign * kAlign;
  if (bytes > kRegion || used_ + bytes > limit_) return 0;
  for (int i = 0; i < 2; ++i) {  // behind all others, else in the first gap that is large enough
    uint64_t at = i == 0 ? next_ : begin_;
    for (auto each = allocations_.lower_bound(at); i == 1 && each != allocations_.end(); ++each) {
      if (!each->second.is_live) continue;
      if (each->first - at >= needed) break;
      at = each->first + (each->second.bytes + kGap + kAlign - 1) / kAlign * kAlign;
    }
    if (at + needed > begin_ + kRegion) continue;
    allocations_.erase(allocations_.lower_bound(at), allocations_.lower_bound(at + needed));
    allocations_[at] = {.bytes = bytes};
    next_ = at + needed;
    used_ += bytes;
    ++live_;
    std::memset(reinterpret_cast<void*>(at), kNoNumber, bytes);  // NOLINT(performance-no-int-to-ptr)
    return at;
  }
  return 0;
}

std::string DeviceMemory::release(uint64_t address) {
  const auto found = allocations_.find(address);
  if (found == allocations_.end()) return "no memory begins there";
  if (!found->second.is_live) return "that memory was released before";
  found->second.is_live = false;
  used_ -= found->second.bytes;
  --live_;
  constexpr uint64_t kPage = 4096;  // whole ones go back to the system
  const uint64_t first = (address + kPage - 1) / kPage * kPage;
  const uint64_t last = (address + found->second.bytes) / kPage * kPage;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);  // NOLINT
  return {};
}

DeviceMemory::Part DeviceMemory::part(uint64_t address, uint64_t bytes) const {
  const auto behind = allocations_.upper_bound(address);
  if (behind == allocations_.begin() || address - begin_ >= kRegion) {
    throw Fault(kIllegalAddress, "address " + std::to_string(address) + " is not in the memory of the GPU");
  }
  const auto& [begin, allocation] = *std::prev(behind);
  const std::string place = std::to_string(bytes) + " bytes at byte " + std::to_string(address - begin) + " of " +
                            std::to_string(allocation.bytes);
  if (!allocation.is_live) throw Fault(kIllegalAddress, place + " of memory that was released");
  if (address + bytes > begin + allocation.bytes)
    throw Fault(kIllegalAddress, place + ", beyond the end of the memory");
  return {begin, begin + allocation.bytes};
}

}  // namespace tenon::emulated_gpu
