#include "build/kept_text.h"

#include "disk/cache_directory.h"
#include "disk/object_cache.h"

namespace tenon {

std::optional<std::string> kept_text(const std::string& name, size_t most) {
  const std::string path = disk::default_cache_directory();
  if (path.empty()) return {};
  const disk::CacheDirectory directory(path);
  const auto bytes = directory.open() ? directory.read(name, most) : std::nullopt;
  return bytes ? std::optional(std::string(bytes->begin(), bytes->end())) : std::nullopt;
}

void keep_text(const std::string& name, std::string_view text) {
  const std::string path = disk::default_cache_directory();
  if (path.empty()) return;
  const disk::CacheDirectory directory(path);
  if (directory.open()) directory.write(name, {}, text);
}

}  // namespace tenon
