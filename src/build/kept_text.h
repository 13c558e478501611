// Small texts that are kept in the user's cache directory.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tenon {

/// What keep_text() was given under this name of a file, by this process or another; nothing where there is none, or
/// where it is longer than `most` bytes.
std::optional<std::string> kept_text(const std::string& name, size_t most);

/// Never fails: what cannot be kept is not.
void keep_text(const std::string& name, std::string_view text);

}  // namespace tenon
