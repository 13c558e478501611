// Programs as bytes.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernel/program/program.h"

namespace tenon {

/// All of a program but its loops, which code is made from: what those need who run it. Constants are written as they
/// are, and the layouts that they have not got yet beside them.
std::vector<std::byte> to_bytes(const Program& program);

/// What to_bytes() wrote. Other bytes are an Error; what they say of buffers and kernels is held together by those who
/// run the program.
Program program_from_bytes(std::span<const std::byte> bytes);

}  // namespace tenon
