// Files that the command writes.
#pragma once

#include <string>

namespace tenon::cli {

/// Error when there is no folder for the file: what takes long should fail before it begins.
void require_folder_of(const std::string& path);
/// The file appears whole or not at all. Error when it cannot be written.
void write_text(const std::string& path, const std::string& text);

}  // namespace tenon::cli
