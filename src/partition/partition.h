// Plans on numbers: what make_plan() of tenon/partition.h does once sizes are known.
#pragma once

#include "partition/fuse/groups.h"
#include "partition/work/sized.h"

namespace tenon::partition {

Plan make_plan(const SizedGraph& graph, const Bindings& bindings, const Profile& profile, const PlanOptions& options);

}  // namespace tenon::partition
