#include <algorithm>

#include "base/fail.h"
#include "base/mapped_file.h"
#include "base/read_file.h"
#include "onnx/tensor_data.h"

namespace tenon::importer {
namespace {

namespace fs = std::filesystem;

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

const ExternalFiles::Mapping& ExternalFiles::open(const std::string& location) {
  if (const auto found = mappings_.find(location); found != mappings_.end()) {
    return found->second;
  }
  if (folder_.empty()) {
    fail("external data `{}`: a model that is not in a folder has no files beside it", location);
  }
  const fs::path file = find_inside(folder_, location);
  Mapping mapping;
  try {
    mapping.size = regular_file_size(file);
    mapping.memory = map_file(file, 0, mapping.size);
  } catch (const Error& error) {
    fail("external data `{}` is no file that can be read: {}", location, error.what());
  }
  read_->insert(file);
  return mappings_.emplace(location, std::move(mapping)).first->second;
}

Array ExternalFiles::bytes(const std::string& location, int64_t offset, int64_t count) {
  if (own_ != nullptr && location == kOwnFile) {
    if (offset > own_->size() || count > own_->size() - offset) {
      fail("the model's file has {} bytes, not {} from {} on", own_->size(), count, offset);
    }
    Array result = Array::uninitialized(Dtype::u8, {count});
    own_->read(offset, std::span(result.mutable_data(), static_cast<size_t>(count)));
    return result;
  }
  const Mapping& mapping = open(location);
  if (offset < 0 || count < 0 || offset > mapping.size || count > mapping.size - offset) {
    fail("external data `{}` has {} bytes, not {} from {} on", location, mapping.size, count, offset);
  }
  if (count == 0) {
    return Array(Dtype::u8, {0});
  }
  return Array::adopt(Dtype::u8, {count}, std::shared_ptr<std::byte[]>(mapping.memory, mapping.memory.get() + offset));
}

}  // namespace tenon::importer
