// How axis names are written in text.
#pragma once

#include <string>
#include <string_view>

namespace tenon::algebra {

constexpr bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
constexpr bool continues_name(char c) { return starts_name(c) || (c >= '0' && c <= '9') || c == '.'; }

/// The words of the extent language, which no bare name may be.
bool is_reserved(std::string_view word);

/// The name itself where it is [A-Za-z_][A-Za-z0-9_.]* and no reserved word, else in backticks with \` and \\ inside.
std::string quoted_name(std::string_view name);

}  // namespace tenon::algebra
