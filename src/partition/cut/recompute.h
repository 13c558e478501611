// Memory against arithmetic: values that are computed again instead of kept.
#pragma once

#include "partition/work/sized.h"

namespace tenon::partition {

/// The parts, with some that come again shortly before their results are needed, so that no more than `limit` bytes of
/// activations are alive at once between parts. Chosen one at a time, at the worst place, by arithmetic for each byte
/// that is not kept. Error, naming the operator at which too much is alive, where that is not enough.
std::vector<Part> keep_within(const SizedGraph& graph, std::vector<Part> parts, int64_t limit);

}  // namespace tenon::partition
