// Arrays in the memory of a device.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "devices/device.h"
#include "tenon/array.h"

namespace tenon::runtime {

/// Memory of the device as an array.
Array array_on(const devices::Device& device, Dtype dtype, std::vector<int64_t> dims,
               std::shared_ptr<std::byte[]> memory);

/// A copy in the CPU's memory of an array of the device.
Array copied_out(devices::Device& device, const Array& array);

}  // namespace tenon::runtime
