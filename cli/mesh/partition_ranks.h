// `tenon partition --ranks N --run`: the parts of a plan, each on one of several ranks.
#pragma once

#include "cli/partition/partition_model.h"
#include "cli/words/arguments.h"
#include "mesh/exchange/communicator.h"

namespace tenon::cli {

/// Deals the parts to the ranks in order, so that ranks take about as long as was estimated, runs them and compares
/// what comes of it with the whole. Only the first rank prints. Gives the exit status. Error: fewer parts than ranks.
int run_plan_on_ranks(const Arguments& arguments, const PartitionModel& model, const partition::Plan& plan,
                      mesh::Communicator& world);

}  // namespace tenon::cli
