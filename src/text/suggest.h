// What a mistyped name may have meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tenon::text {

/// "; did you mean `exp`?" for the nearest of `names`, or "" when none is near.
std::string suggestion(std::string_view name, const std::vector<std::string>& names);

}  // namespace tenon::text
