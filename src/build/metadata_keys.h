// Which keys of a program's metadata are Tenon's own.
#pragma once

#include <string_view>

namespace tenon {

/// `source` and `source_...`: of what model the program was built, by which `tenon check` finds it.
bool is_source_key(std::string_view key);

/// Error: a key that nobody else may give, or none.
void require_own_key(std::string_view key);

}  // namespace tenon
