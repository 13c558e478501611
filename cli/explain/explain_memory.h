// Where the memory of a run goes: what `tenon explain --memory` shows.
#pragma once

#include <string>

#include "report/memory.h"
#include "tenon/executable.h"

namespace tenon::cli {

using report::memory_at_sizes;
using report::memory_json;
using report::MemoryAtSizes;
using report::OtherSize;

/// Code of products is a part of program files; what is compiled here calls that of this process.
enum class CodeOrigin { compiled, file };

/// A bar for each step, what is in use at the peak, and the same at other sizes.
std::string memory_text(const MemoryAtSizes& memory, const Executable& executable, CodeOrigin origin);

}  // namespace tenon::cli
