// Why operations do not go into one kernel.
#pragma once

#include <string>

#include "tenon/graph.h"

namespace tenon::schedule {

/// Thrown while a kernel is built; the text becomes the reason of a boundary.
struct Refusal {
  std::string why;
  Value culprit;  // what must be in memory for a view of it to be an index map; empty where that is not the reason
};

}  // namespace tenon::schedule
