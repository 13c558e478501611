#include "cli/models/files.h"

#include <filesystem>
#include <fstream>
#include <span>
#include <utility>
#include <vector>

#include "base/fail.h"
#include "base/file.h"

namespace tenon::cli {

namespace {

bool are_same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  const bool is_there = std::filesystem::equivalent(a, b, error);
  return is_there || std::filesystem::weakly_canonical(a, error) == std::filesystem::weakly_canonical(b, error);
}

/// Devices such as /dev/stdout and /dev/null are no files that could be lost.
bool is_kept(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

/// Files among the words and what `--input` and `--target` name.
std::vector<std::string> files_read(const Arguments& arguments) {
  std::vector<std::string> read = arguments.rest();
  for (const std::string_view option : {"--input", "--target"}) {
    for (const std::string& value : arguments.all(option)) {
      read.push_back(value.substr(value.find('=') + 1));
      read.push_back(value);
    }
  }
  std::erase_if(read, [](const std::string& path) { return !is_kept(path); });
  return read;
}

}  // namespace

void require_not_read(const Arguments& arguments, const std::string& path) {
  for (const std::string& each : files_read(arguments)) {
    if (are_same_file(each, path)) {
      fail("`{}` would be overwritten, and it is read: write to another file", each);
    }
  }
}

void require_not_within(const Arguments& arguments, const std::string& folder) {
  for (const std::string& each : files_read(arguments)) {
    std::error_code error;
    for (std::filesystem::path at = std::filesystem::canonical(each, error); at.has_relative_path();
         at = at.parent_path()) {
      if (std::filesystem::equivalent(at, folder, error)) {
        fail("`{}` is in the folder `{}`, which would be replaced: write to another", each, folder);
      }
    }
  }
}

void check_written(const Arguments& arguments, std::span<const Option> options) {
  std::vector<std::pair<std::string_view, std::string>> written;
  for (const Option& option : options) {
    const auto path = option.writes ? arguments.find(option.name) : std::nullopt;
    if (!path) {
      continue;
    }
    if (path->empty()) {
      fail("`{}` takes the name of a file, and it is empty", option.name);
    }
    require_folder_of(*path);
    require_not_read(arguments, *path);
    for (const auto& [name, other] : written) {
      if (are_same_file(other, *path) && (is_kept(other) || !std::filesystem::exists(other))) {
        fail("`{}` and `{}` would both write `{}`", name, option.name, *path);
      }
    }
    written.emplace_back(option.name, *path);
  }
}

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
