// Files that are read whole.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace tenon {

/// How many bytes a regular file has. Error, in one line that names the file: there is none; it is a folder, a device,
/// a pipe or a socket, which have no end or wait for somebody to write.
int64_t regular_file_size(const std::filesystem::path& file);

/// The same. Error also: it has more than `most` bytes, with `remedy` behind.
int64_t require_file_size(const std::filesystem::path& file, int64_t most, std::string_view remedy = "");

/// All bytes of a regular file. Errors also: it may not be read; it has more than `most` bytes.
std::string read_file(const std::filesystem::path& file, int64_t most, std::string_view remedy = "");

}  // namespace tenon
