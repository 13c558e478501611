// A model file is read without its weights, which are read one by one, to where they stay.
#pragma once

#include <cstdint>
#include <string>

#include "base/file.h"

namespace tenon::importer {

/// From so many bytes on, the elements of a tensor are left in the file.
inline constexpr int64_t kLargeTensor = int64_t{16} << 10;

/// The file's message with external data in place of the bytes of large tensors: they lie in the file kOwnFile. What is
/// no message is left as it is, for the parser to tell.
std::string read_skeleton(const File& file);

}  // namespace tenon::importer
