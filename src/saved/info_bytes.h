// What a file says of itself, as bytes: the section `info`.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tenon/program_file.h"

namespace tenon::saved {

/// Without sections, size and versions, which the header has, and without what holds on one host alone.
std::vector<std::byte> to_bytes(const ProgramFileInfo& info);
/// What to_bytes() wrote; other bytes are an Error.
ProgramFileInfo info_from_bytes(std::span<const std::byte> bytes);

}  // namespace tenon::saved
