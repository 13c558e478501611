// Weights in files of the safetensors format: a length, JSON that says where each tensor lies, and bytes.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tenon/array.h"

namespace tenon {

/// Arrays by name, and text that belongs to the file.
struct SafeTensors {
  std::vector<std::pair<std::string, Array>> arrays;  ///< in the order of their bytes
  std::map<std::string, std::string> metadata = {};

  /// Null where there is none.
  const Array* find(std::string_view name) const;
};

/// The arrays lie in the file: its pages are read when they are touched, and nothing that is written to an array goes
/// back. Errors, in one line that names the file: no such file; it ends too early; a header that is none, or is larger
/// than 100 MB; a tensor of an unknown dtype, with sizes that are not its bytes, outside of the file or over another
/// one; bytes that belong to none.
SafeTensors load_safetensors(const std::filesystem::path& file);

/// Written beside the file first and then moved there: an Error, or a machine that stops, leaves what was there before.
void save_safetensors(const std::filesystem::path& file, const SafeTensors& tensors);

}  // namespace tenon
