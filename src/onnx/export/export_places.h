// The places of a window or a kernel, for what is written out place by place.
#pragma once

#include <cstdint>
#include <vector>

namespace tenon::exporter {

/// Every offset in a box of these sizes, the first axis fastest. Error when there are more than a few thousand.
std::vector<std::vector<int64_t>> places_of(const std::vector<int64_t>& sizes);

}  // namespace tenon::exporter
