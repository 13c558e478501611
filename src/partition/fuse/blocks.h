// Repeated blocks of an architecture, found from structure.
#pragma once

#include "partition/work/sized.h"

namespace tenon::partition {

/// Parts that are the model's blocks: what begins and ends with one activation and comes again, whatever its sizes. A
/// stem before the first and a head behind the last are parts of their own. One part of everything where nothing comes
/// again.
///
/// 1. Where a single activation passes, the operators may be cut; stretches with several paths inside are candidates.
/// 2. Candidates that are alike, by the multiset of hashes of their operators' neighbourhoods, are blocks of one class.
/// 3. A block whose paths do not join at its end (a stride, no residual) has the same sequence of operators without the
///    join: it is found by that; so is the end of one (a first block without expansion).
/// 4. Classes that take turns (attention, feed-forward) are one block; norms between blocks belong to the one before.
std::vector<std::vector<int>> blocks(const SizedGraph& graph);

}  // namespace tenon::partition
