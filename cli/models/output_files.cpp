#include "cli/models/output_files.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>

#include "base/fail.h"
#include "cli/models/files.h"
#include "cli/models/npy.h"

namespace tenon::cli {
namespace {

/// A file name from the name of an output, which may hold anything.
std::string file_name(const std::string& name) {
  std::string safe = name;
  std::ranges::replace_if(safe, [](char c) { return c == '/' || c == '\0'; }, '_');
  return (safe.starts_with('.') ? "_" : "") + safe + ".npy";
}

}  // namespace

void write_outputs(const Arguments& arguments, const std::string& folder, const std::vector<std::string>& names,
                   const std::vector<Array>& outputs) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    fail("cannot make the folder `{}`: {}", folder, error.message());
  }
  std::map<std::string, std::string> written;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto [other, is_new] = written.emplace(file_name(names[i]), names[i]);
    if (!is_new) {
      fail("outputs `{}` and `{}` would both be the file `{}`", other->second, names[i], other->first);
    }
    const std::filesystem::path path = std::filesystem::path(folder) / other->first;
    require_not_read(arguments, path);
    write_npy(path, outputs[i]);
  }
}

}  // namespace tenon::cli
