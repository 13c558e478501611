#include "partition/chip/built_in.h"

#include <algorithm>

#include "base/fail.h"
#include "tenon/partition.h"

namespace tenon::partition {

std::vector<std::string> profile_names() {
  std::vector<std::string> names;
  for (const BuiltInProfile& each : built_in_profiles()) {
    names.emplace_back(each.name);
  }
  return names;
}

Profile profile_named(std::string_view name) {
  const std::span<const BuiltInProfile> all = built_in_profiles();
  const auto at = std::ranges::find(all, name, &BuiltInProfile::name);
  if (at == all.end()) {
    fail("there is no profile `{}`; there is: {}", name, fmt::join(profile_names(), ", "));
  }
  return parse_profile(at->json, name);
}

}  // namespace tenon::partition
