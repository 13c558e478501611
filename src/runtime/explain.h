// The steps of an executable as text.
#pragma once

#include <span>
#include <string>

#include "tenon/executable.h"

namespace tenon::runtime {

/// Executable::explain() with a note under the first line of each step; no notes, or one for each, which may be empty.
std::string explain(const Executable& executable, std::span<const std::string> notes);

}  // namespace tenon::runtime
