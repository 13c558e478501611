// Characters in text that may be anything.
#pragma once

#include <cstddef>
#include <string_view>

namespace tenon::report {

/// The length of the UTF-8 character at the start of `text`, which is not empty; 0 where there is none.
size_t utf8_length(std::string_view text);

}  // namespace tenon::report
