// Parts that a profile asks for: such as fit its memories, and stages of a pipeline over its devices. Each is a stretch
// of groups, as the operators in it.
#pragma once

#include "partition/work/sized.h"

namespace tenon::partition {

/// The unit whose memory decides: of those for products the one with the most arithmetic.
const Unit& main_unit(const Profile& profile);

/// Stretches whose working sets fit the memory of the unit and that keep the limits, with as few bytes moved as
/// stretches of this order can have. A group that does not fit by itself is a part that is done in tiles. Error, naming
/// the operator whose smallest piece does not fit.
std::vector<std::vector<int>> cut_by_resources(const SizedGraph& graph, const std::vector<std::vector<int>>& groups,
                                               const Profile& profile, const PartLimits& limits);

/// `devices` stretches, the slowest as fast as it can be: roofline of its operators on the profile and what enters it
/// over the link.
std::vector<std::vector<int>> cut_for_pipeline(const SizedGraph& graph, const std::vector<std::vector<int>>& groups,
                                               const Profile& profile, int devices);

}  // namespace tenon::partition
