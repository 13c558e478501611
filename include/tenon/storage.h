// Memory: of which device, where, and what keeps it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace tenon {

enum class DeviceKind : uint8_t { cpu, gpu };

/// Whose memory something lies in. What programs read and write without further ado is that of the CPU.
struct MemoryPlace {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;  ///< which one of its kind; 0 for the CPU

  friend bool operator==(const MemoryPlace&, const MemoryPlace&) = default;
};

/// "cpu", "gpu:0".
std::string to_string(const MemoryPlace& place);

/// Memory and what keeps it: the owner frees it when its last copy goes, on whatever thread.
struct Storage {
  MemoryPlace place = {};
  std::byte* address = nullptr;  ///< as the device knows it: only that of CPU memory can be read through
  int64_t bytes = 0;             ///< from the address on
  std::shared_ptr<void> owner = {};

  friend bool operator==(const Storage&, const Storage&) = default;
};

}  // namespace tenon
