#include "files.h"

#include <filesystem>
#include <fstream>
#include <span>

#include "base/fail.h"
#include "base/file.h"

namespace tenon::cli {

void require_folder_of(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!folder.empty() && !std::filesystem::is_directory(folder, error)) {
    fail("cannot write the file `{}`: there is no folder `{}`", path, folder.string());
  }
}

void write_text(const std::string& path, const std::string& text) {
  std::error_code error;
  if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error)) {  // such as /dev/stdout
    std::ofstream file(path, std::ios::binary);
    file << text;
    file.close();
    if (!file) {
      fail("cannot write `{}`", path);
    }
    return;
  }
  NewFile file(path);
  file.write(std::as_bytes(std::span(text)));
  file.put_in_place(false);
}

}  // namespace tenon::cli
