#include "devices/cpu/thread_scratch.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>

#include "base/refused.h"
#include "kernel/program/program.h"

namespace tenon::devices {
namespace {

constexpr std::align_val_t kAlignment{64};

struct Free {
  void operator()(std::byte* p) const { ::operator delete(p, kAlignment); }
};

struct Scratch {
  std::unique_ptr<std::byte, Free> memory;
  int64_t bytes = 0;
};

/// What no thread takes less than: kernels that would need more take another way, so this is nearly all that ever is
/// needed, and the system gives memory for what is used alone.
constexpr int64_t kLeast = kMostScratch;

}  // namespace

void* thread_scratch(int64_t bytes) {
  thread_local Scratch scratch;
  if (bytes > scratch.bytes) [[unlikely]] {
    bytes = std::max(bytes, kLeast);
    scratch = {};  // before the new one, so that both never exist at once
    try {
      scratch.memory.reset(static_cast<std::byte*>(::operator new(static_cast<size_t>(bytes), kAlignment)));
    } catch (const std::bad_alloc&) {
      refuse("no memory for {} bytes of scratch", bytes);
    }
    scratch.bytes = bytes;
  }
  return scratch.memory.get();
}

}  // namespace tenon::devices
