// The profiles of profiles/*.json, which the build puts into the library.
#include <algorithm>

#include "base/fail.h"
#include "tenon/partition.h"

namespace tenon::partition {
namespace {

struct BuiltIn {
  std::string_view name;
  std::string_view json;
};

constexpr BuiltIn kBuiltIn[] = {
#include "built_in_profiles.inc"
};

}  // namespace

std::vector<std::string> profile_names() {
  std::vector<std::string> names;
  std::ranges::transform(kBuiltIn, std::back_inserter(names),
                         [](const BuiltIn& each) { return std::string(each.name); });
  return names;
}

Profile profile_named(std::string_view name) {
  const auto at = std::ranges::find(kBuiltIn, name, &BuiltIn::name);
  if (at == std::end(kBuiltIn)) {
    fail("there is no profile `{}`; there is: {}", name, fmt::join(profile_names(), ", "));
  }
  return parse_profile(at->json, name);
}

}  // namespace tenon::partition
