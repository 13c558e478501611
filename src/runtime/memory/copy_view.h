// Elements of a view of a device's buffer, gathered in rows on the device.
#pragma once

#include "devices/device.h"
#include "runtime/memory/operand.h"

namespace tenon::runtime {

/// Where a view begins in its buffer, and how large the buffer is, in bytes.
struct InBuffer {
  int64_t offset = 0;
  int64_t of_bytes = 0;
};

/// Copy the elements of a view to `to`, row-major, which the buffer does not overlap. `view.data` is where the buffer
/// begins. On a device that cannot do that itself they go by way of the host.
void copy_view(devices::Device& device, const Operand& view, const InBuffer& place, std::byte* to);

}  // namespace tenon::runtime
