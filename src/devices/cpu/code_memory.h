// Memory that holds machine code, and beside it the addresses that the code reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tenon::devices {

/// Code at a multiple of a page, and `slots_at` bytes behind it pages of slots. Written first, then run: never both.
class CodeMemory {
 public:
  /// A copy of `code`, and room for `slots`, which are zero. `slots_at` is a multiple of 64 KiB behind the code. Error:
  /// the system has no such memory.
  CodeMemory(std::span<const std::byte> code, int64_t slots_at, int64_t slots);
  ~CodeMemory();
  CodeMemory(const CodeMemory&) = delete;
  CodeMemory& operator=(const CodeMemory&) = delete;

  const std::byte* code() const { return memory_; }
  /// To be called before seal().
  void set_slot(int64_t slot, const void* address);
  /// From here on the code can run, and neither it nor the slots can be written. Error: the system forbids that.
  void seal();

 private:
  std::byte* memory_ = nullptr;
  size_t code_bytes_ = 0;
  int64_t slots_at_ = 0;
  size_t bytes_ = 0;
};

}  // namespace tenon::devices
