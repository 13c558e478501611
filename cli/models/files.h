// Files that the command writes.
#pragma once

#include <span>
#include <string>

#include "cli/words/arguments.h"

namespace tenon::cli {

/// Before anything is done: Error where a file that an option names cannot be written, because its folder is not there,
/// or must not be, because it is the model, a file of data, or the file of another option.
void check_written(const Arguments& arguments, std::span<const Option> options);
/// Error where the path is a file that the words or `--input` and `--target` name: it is read, and would be lost.
void require_not_read(const Arguments& arguments, const std::string& path);
/// Error where such a file is in the folder, which is to be replaced.
void require_not_within(const Arguments& arguments, const std::string& folder);

/// Error when there is no folder for the file: what takes long should fail before it begins.
void require_folder_of(const std::string& path);
/// The file appears whole or not at all. Error when it cannot be written.
void write_text(const std::string& path, const std::string& text);

}  // namespace tenon::cli
