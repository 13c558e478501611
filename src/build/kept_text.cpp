#include "build/kept_text.h"

#ifdef TENON_WITH_LLVM
#include "codegen/jit/cache_directory.h"
#include "codegen/jit/object_cache.h"
#endif

namespace tenon {

#ifdef TENON_WITH_LLVM

std::optional<std::string> kept_text(const std::string& name, size_t most) {
  const std::string path = codegen::default_cache_directory();
  if (path.empty()) return {};
  const codegen::CacheDirectory directory(path);
  const auto bytes = directory.open() ? directory.read(name, most) : std::nullopt;
  return bytes ? std::optional(std::string(bytes->begin(), bytes->end())) : std::nullopt;
}

void keep_text(const std::string& name, std::string_view text) {
  const std::string path = codegen::default_cache_directory();
  if (path.empty()) return;
  const codegen::CacheDirectory directory(path);
  if (directory.open()) directory.write(name, {}, text);
}

#else

std::optional<std::string> kept_text(const std::string& /*name*/, size_t /*most*/) { return {}; }

void keep_text(const std::string& /*name*/, std::string_view /*text*/) {}

#endif

}  // namespace tenon
