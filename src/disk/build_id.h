// Which build of Tenon made what lies on disk.
#pragma once

#include <string>

namespace tenon::disk {

/// The linker's build id of the program or library that this function is linked into. Empty where it has none; then
/// nothing may be kept that another build could take for its own.
std::string build_id();

}  // namespace tenon::disk
