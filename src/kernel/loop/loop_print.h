// Parts of a loop kernel as text, for messages.
#pragma once

#include <string>

#include "kernel/loop/loop.h"

namespace tenon::loops {

/// The first line of a statement as to_string() writes it. Takes malformed kernels too.
std::string describe(const Kernel& kernel, const Statement& statement);

}  // namespace tenon::loops
