// The steps of an executable as text.
#pragma once

#include <string>
#include <string_view>

#include "tenon/executable.h"

namespace tenon::runtime {

/// Executable::explain() under another title than the program's name.
std::string explain(const Executable& executable, std::string_view title);

}  // namespace tenon::runtime
