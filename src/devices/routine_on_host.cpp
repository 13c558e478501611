#include <algorithm>

#include "devices/device.h"

namespace tenon::devices {
namespace {

/// Copies on the host of what a routine uses. What lies at one address is one copy, as a scatter changes what it reads.
class HostCopies {
 public:
  explicit HostCopies(Device& device) : device_(device) {}

  library::Memory of(const library::Memory& memory, bool is_read) {
    const int64_t bytes = memory.size() * static_cast<int64_t>(byte_size(memory.dtype));
    auto copy = std::ranges::find(copies_, memory.data, &Copy::at);
    if (copy == copies_.end()) {
      copies_.push_back({.at = memory.data, .bytes = std::vector<std::byte>(static_cast<size_t>(bytes))});
      copy = copies_.end() - 1;
      if (is_read && bytes > 0) {
        device_.copy_out(copy->bytes.data(), memory.data, bytes);
      }
    }
    return {.dtype = memory.dtype, .data = copy->bytes.data(), .dims = memory.dims};
  }

 private:
  struct Copy {
    const std::byte* at = nullptr;
    std::vector<std::byte> bytes;
  };

  Device& device_;
  std::vector<Copy> copies_;
};

}  // namespace

void run_routine_on_host(Device& device, const RoutineCall& call, Pool& pool) {
  HostCopies copies(device);
  std::vector<library::Memory> reads;
  std::vector<library::Memory> writes;
  for (const library::Memory& memory : call.reads) {
    reads.push_back(copies.of(memory, true));
  }
  for (const library::Memory& memory : call.writes) {
    writes.push_back(copies.of(memory, true));  // what is not written stays
  }
  library::run(call.routine, reads, writes, {.pool = pool, .threads = call.threads, .before_chunk = call.before_chunk});
  for (size_t i = 0; i < writes.size(); ++i) {
    const int64_t bytes = writes[i].size() * static_cast<int64_t>(byte_size(writes[i].dtype));
    if (bytes > 0) {
      device.copy_in(call.writes[i].data, writes[i].data, bytes);
    }
  }
}

}  // namespace tenon::devices
