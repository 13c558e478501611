// Repeated blocks of an architecture, found from structure.
#pragma once

#include "partition/work/sized.h"

namespace tenon::partition {

/// Parts that are the model's blocks: what begins and ends with few activations and comes again, whatever its sizes. A
/// stem before the first, a head behind the last and what exchanges between them are parts of their own. One part of
/// everything where nothing comes again.
///
/// 1. Where a single activation passes, the operators may be cut; stretches with several paths inside are candidates.
///    Of what is left then, where two pass, and so on: a decoder hands on what the encoder gave, a network of several
///    resolutions all of its branches.
/// 2. Candidates that are alike, by the multiset of their operators' structures, are blocks of one class.
/// 3. A block whose paths do not join at its end (a stride, no residual) has the same sequence of operators without the
///    join: it is found by that; so is the end of one (a first block without expansion).
/// 4. Classes that take turns (attention, feed-forward) are one block; norms between blocks belong to the one before.
std::vector<std::vector<int>> blocks(const SizedGraph& graph);

}  // namespace tenon::partition
