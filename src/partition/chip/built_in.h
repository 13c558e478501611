// The text of profiles/*.json, which the build writes into a source.
#pragma once

#include <span>
#include <string_view>

namespace tenon::partition {

struct BuiltInProfile {
  std::string_view name;
  std::string_view json;
};

std::span<const BuiltInProfile> built_in_profiles();

}  // namespace tenon::partition
