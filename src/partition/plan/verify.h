// The proof of a plan, on numbers.
#pragma once

#include "partition/work/sized.h"

namespace tenon::partition {

/// As tenon/partition.h says.
void verify(const Plan& plan, const SizedGraph& graph, const Profile& profile);

/// The parts, sorted so that each comes after those that it reads; no part computes an operator that another one does.
/// Error where they depend on each other in a circle: it names two operators of it.
std::vector<std::vector<int>> in_order(const SizedGraph& graph, std::vector<std::vector<int>> parts);

}  // namespace tenon::partition
