#include "files.h"

#include <filesystem>
#include <fstream>

#include "base/fail.h"

namespace tenon::cli {

void require_folder_of(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!folder.empty() && !std::filesystem::is_directory(folder, error)) {
    fail("cannot write the file `{}`: there is no folder `{}`", path, folder.string());
  }
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) {
    fail("cannot write the file `{}`", path);
  }
}

}  // namespace tenon::cli
