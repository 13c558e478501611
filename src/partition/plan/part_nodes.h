// What the model calls the operators of a part.
#pragma once

#include <string>
#include <vector>

#include "tenon/partition.h"

namespace tenon::partition {

/// The nodes of the model that its operators came from, each once and in their order; those without a name are left
/// out.
std::vector<std::string> nodes_of(const Part& part, const WorkGraph& work);

}  // namespace tenon::partition
