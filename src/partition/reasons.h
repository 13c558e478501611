// Why parts end where they do, as a function of the plan: what it says can be checked.
#pragma once

#include "partition/fuse/stages.h"
#include "partition/work/sized.h"

namespace tenon::partition {

/// Why each part ends, from its operators, the plan's figures and transfers, and what the strategies say. Error: there
/// is no such partitioner.
std::vector<std::string> reasons(const Plan& plan, const Stages& stages, const Profile& profile);

/// Error, naming an operator: a reason is not what reasons() gives, or a limit that parts of several groups keep is not
/// kept.
void verify_reasons(const Plan& plan, const Stages& stages, const Profile& profile);

/// The strategies of a plan: its `fuse` as a list.
std::vector<std::string> strategies_of(const Plan& plan);

/// What each strategy says of the edge between two operators of different groups: one line each, `vertical: ...`.
std::vector<std::string> refusals(const Stages& stages, int producer, int reader);

}  // namespace tenon::partition
