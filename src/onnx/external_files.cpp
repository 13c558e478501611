#include <algorithm>

#include "base/fail.h"
#include "base/mapped_file.h"
#include "base/read_file.h"
#include "onnx/tensor_data.h"

namespace tenon::importer {
namespace {

namespace fs = std::filesystem;

/// Bytes of a tensor that pages of its own are worth.
constexpr int64_t kLeastMapped = 4096;

/// The file itself, when it lies in the folder. Names that lead out of it are refused before the disk is asked.
fs::path find_inside(const fs::path& folder, const std::string& location) {
  if (location.find('\0') != std::string::npos) {
    fail("external data has a name that no file can have");
  }
  const fs::path relative = fs::path(location).lexically_normal();
  if (location.empty() || relative.is_absolute() || *relative.begin() == "..") {
    fail("external data `{}` is not a file of the model's folder", location);
  }
  std::error_code error;
  const fs::path root = fs::canonical(folder, error);
  const fs::path file = error ? fs::path() : fs::canonical(root / relative, error);
  if (error) {
    fail("external data `{}` cannot be opened: {}", location, error.message());
  }
  const auto [end, _] = std::mismatch(root.begin(), root.end(), file.begin(), file.end());
  if (end != root.end()) {
    fail("external data `{}` is a link out of the model's folder", location);
  }
  return file;
}

}  // namespace

const ExternalFiles::Opened& ExternalFiles::open(const std::string& location) {
  if (const auto found = opened_.find(location); found != opened_.end()) {
    return found->second;
  }
  if (folder_.empty()) {
    fail("external data `{}`: a model that is not in a folder has no files beside it", location);
  }
  const fs::path file = find_inside(folder_, location);
  Opened opened{.path = file, .file = nullptr};
  try {
    opened.size = regular_file_size(file);
    opened.file = std::make_shared<const File>(file.string());
  } catch (const Error& error) {
    fail("external data `{}` is no file that can be read: {}", location, error.what());
  }
  read_->insert(file);
  return opened_.emplace(location, std::move(opened)).first->second;
}

Array ExternalFiles::bytes(const std::string& location, int64_t offset, int64_t count) {
  const auto read = [&](const File& file) {
    Array result = Array::uninitialized(Dtype::u8, {count});
    file.read(offset, std::span(result.mutable_data(), static_cast<size_t>(count)));
    return result;
  };
  if (own_ != nullptr && location == kOwnFile) {
    if (offset > own_->size() || count > own_->size() - offset) {
      fail("the model's file has {} bytes, not {} from {} on", own_->size(), count, offset);
    }
    return read(*own_);
  }
  const Opened& opened = open(location);
  if (offset < 0 || count < 0 || offset > opened.size || count > opened.size - offset) {
    fail("external data `{}` has {} bytes, not {} from {} on", location, opened.size, count, offset);
  }
  if (count < kLeastMapped) {
    return read(*opened.file);
  }
  return Array::adopt(Dtype::u8, {count}, map_file(*opened.file, opened.path.string(), offset, count));
}

}  // namespace tenon::importer
