// Loop kernels as bytes.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernel/loop/loop.h"

namespace tenon::loops {

/// All of a kernel.
std::vector<std::byte> to_bytes(const Kernel& kernel);

/// What to_bytes() wrote. Other bytes are an Error. Whether the kernel is well-formed, verify() says.
Kernel kernel_from_bytes(std::span<const std::byte> bytes);

}  // namespace tenon::loops
