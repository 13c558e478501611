// NumPy's .npy files: one array each.
#pragma once

#include <filesystem>

#include "tenon/array.h"

namespace tenon::cli {

/// Format versions 1 to 3, little-endian elements of a dtype that Tenon has, in C or Fortran order. An Error of one
/// line that begins with the path: a file that cannot be read, is no .npy file, holds something else, or whose size is
/// not what its header says. A header is at most 64 KiB and is believed only after the file's size agrees.
Array read_npy(const std::filesystem::path& path);

/// Version 1, C order. bf16, which NumPy has not, is written as f32. Error when the file cannot be written.
void write_npy(const std::filesystem::path& path, const Array& array);

}  // namespace tenon::cli
