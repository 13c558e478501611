// `tenon train --mesh`.
#pragma once

#include "cli/words/arguments.h"
#include "mesh/exchange/communicator.h"
#include "train/dataset.h"
#include "train/trainer.h"

namespace tenon::cli {

/// How steps run on a mesh. Unless `--shard` says otherwise, examples lie along its first axis, and so do the states of
/// the optimiser that have enough elements along one of theirs; each rank keeps its part of these between steps.
train::MakeStep step_on_mesh(const Arguments& arguments, const train::Dataset& data, int64_t batch,
                             mesh::Communicator& world);

}  // namespace tenon::cli
