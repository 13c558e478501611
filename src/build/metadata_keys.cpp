#include "build/metadata_keys.h"

#include "base/fail.h"

namespace tenon {

bool is_source_key(std::string_view key) { return key == "source" || key.starts_with("source_"); }

void require_own_key(std::string_view key) {
  if (key.empty()) {
    fail("a key of metadata is empty; give each text a name");
  }
  if (is_source_key(key)) {
    fail("metadata `{}`: Tenon writes `{}` itself; take another name", key, key);
  }
}

}  // namespace tenon
