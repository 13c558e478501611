// Where the memory of a run goes, as data.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/json.h"
#include "tenon/executable.h"
#include "tenon/memory_timeline.h"

namespace tenon::report {

/// What a run takes at sizes of which one differs.
struct OtherSize {
  std::string axis;
  int64_t size = 0;
  std::optional<MemoryReport> memory;  // nothing where the model does not take such a size
};

struct MemoryAtSizes {
  std::string title;  // the program's name, where no file's is known
  Bindings bindings;
  MemoryTimeline timeline;
  std::vector<OtherSize> others;  // half, twice and four times each axis
};

/// Error: the model does not run at these sizes.
MemoryAtSizes memory_at_sizes(const Executable& executable, const Bindings& bindings);

/// Why the arena takes more bytes than are in use at the peak; empty where it does not.
std::string arena_beyond_peak(const MemoryTimeline& timeline);

Json memory_json(const MemoryAtSizes& memory);

}  // namespace tenon::report
