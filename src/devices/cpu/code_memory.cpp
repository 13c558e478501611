#include "devices/cpu/code_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "base/fail.h"

namespace tenon::devices {

CodeMemory::CodeMemory(std::span<const std::byte> code, int64_t slots_at, int64_t slots)
    : code_bytes_(code.size()), slots_at_(slots_at), bytes_(static_cast<size_t>(slots_at + 8 * slots)) {
  TENON_CHECK(slots_at >= std::ssize(code) && !code.empty(), "slots at {} behind {} bytes of code", slots_at,
              code.size());
  void* const memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    fail("no memory for {} bytes of machine code: {}", bytes_, std::strerror(errno));
  }
  memory_ = static_cast<std::byte*>(memory);
  std::memcpy(memory_, code.data(), code.size());
}

CodeMemory::~CodeMemory() { ::munmap(memory_, bytes_); }

void CodeMemory::set_slot(int64_t slot, const void* address) {
  const int64_t place = slots_at_ + 8 * slot;
  TENON_CHECK(slot >= 0 && static_cast<size_t>(place) + sizeof(address) <= bytes_, "slot {}", slot);
  static_assert(sizeof(address) == 8);
  std::memcpy(memory_ + place, static_cast<const void*>(&address), sizeof(address));
}

void CodeMemory::seal() {
  const auto protect = [](std::byte* from, size_t bytes, int protection) {
    if (bytes > 0 && ::mprotect(from, bytes, protection) != 0) {
      fail("this system does not let a program run machine code that it loaded: {}", std::strerror(errno));
    }
  };
  protect(memory_ + slots_at_, bytes_ - static_cast<size_t>(slots_at_), PROT_READ);
  protect(memory_, code_bytes_, PROT_READ | PROT_EXEC);
  auto* const begin = reinterpret_cast<char*>(memory_);
  __builtin___clear_cache(begin, begin + code_bytes_);
}

}  // namespace tenon::devices
