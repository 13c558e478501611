// Whether compiles use the cache of machine code on disk.
#pragma once

#include "verb.h"

namespace tenon::cli {

inline constexpr Option kNoCacheOption{"--no-cache", "", "neither read nor write machine code that is kept on disk"};

inline bool uses_cache(const Arguments& arguments) { return !arguments.has(kNoCacheOption.name); }

}  // namespace tenon::cli
