// Parts that a profile asks for: such as fit its memories, and stages of a pipeline over its devices.
#pragma once

#include "partition/work/sized.h"

namespace tenon::partition {

/// Stretches of groups and why each ends.
struct ProfileCut {
  std::vector<std::vector<int>> parts;  // operators
  std::vector<std::string> why;
};

/// Stretches whose working sets fit the memory of the unit, with as few bytes moved as stretches of this order can
/// have. A group that does not fit by itself is a part that is done in tiles. Error, naming the operator whose smallest
/// piece does not fit.
ProfileCut cut_by_resources(const SizedGraph& graph, const std::vector<std::vector<int>>& groups,
                            const Profile& profile);

/// `devices` stretches, the slowest as fast as it can be: roofline of its operators on the profile and what enters it
/// over the link.
ProfileCut cut_for_pipeline(const SizedGraph& graph, const std::vector<std::vector<int>>& groups,
                            const Profile& profile, int devices);

}  // namespace tenon::partition
