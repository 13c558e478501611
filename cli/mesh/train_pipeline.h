// `tenon train --mesh --pipeline`.
#pragma once

#include "cli/words/arguments.h"
#include "mesh/exchange/communicator.h"
#include "train/dataset.h"
#include "train/trainer.h"

namespace tenon::cli {

/// How steps run in stages along an axis of the mesh, and along its other axes as without stages.
train::MakeStep step_in_stages(const Arguments& arguments, const train::Dataset& data, int64_t batch,
                               mesh::Communicator& world);

}  // namespace tenon::cli
