// `tenon train --mesh`.
#pragma once

#include "cli/words/arguments.h"
#include "mesh/exchange/communicator.h"
#include "mesh/parts/sharding.h"
#include "train/dataset.h"
#include "train/trainer.h"

namespace tenon::cli {

/// Examples, and states of the optimiser that have enough elements along one of their axes, along the first axis of the
/// mesh. `examples` are the axes of the columns of data, which are the first inputs.
mesh::Sharding usual_sharding(const Graph& step, const mesh::MeshShape& mesh, const std::vector<int>& examples);
/// The axes of the columns that examples lie along; -1 where there is none.
std::vector<int> axes_of_examples(const train::Dataset& data);
/// The sizes of a batch of so many examples.
Bindings sizes_of_batch(const train::Dataset& data, const Graph& step, int64_t batch);

/// How steps run on a mesh, in stages where `--pipeline` is given. Unless `--shard` says otherwise, tensors lie as in
/// usual_sharding(); each rank keeps its part of the optimiser's states between steps.
train::MakeStep step_on_mesh(const Arguments& arguments, const train::Dataset& data, int64_t batch,
                             mesh::Communicator& world);

}  // namespace tenon::cli
