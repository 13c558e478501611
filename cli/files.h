// Files that the command writes.
#pragma once

#include <string>

namespace tenon {

/// Error when the file cannot be written.
void write_text(const std::string& path, const std::string& text);

}  // namespace tenon
