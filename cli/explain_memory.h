// Where the memory of a run goes: what `tenon explain --memory` shows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "json.h"
#include "tenon/executable.h"
#include "tenon/memory_timeline.h"

namespace tenon::cli {

/// What a run takes at sizes of which one differs.
struct OtherSize {
  std::string axis;
  int64_t size = 0;
  std::optional<MemoryReport> memory;  // nothing where the model does not take such a size
};

struct MemoryAtSizes {
  Bindings bindings;
  MemoryTimeline timeline;
  std::vector<OtherSize> others;  // half, twice and four times each axis
};

/// Error: the model does not run at these sizes.
MemoryAtSizes memory_at_sizes(const Executable& executable, const Bindings& bindings);

/// Code of products is a part of program files; what is compiled here calls that of this process.
enum class CodeOrigin { compiled, file };

/// A bar for each step, what is in use at the peak, and the same at other sizes.
std::string memory_text(const MemoryAtSizes& memory, const Executable& executable, CodeOrigin origin);
Json memory_json(const MemoryAtSizes& memory, const Executable& executable);

}  // namespace tenon::cli
