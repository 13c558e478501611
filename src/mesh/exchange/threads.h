// Ranks as threads of one process: for tests, for trying out meshes, and as the plain form of each collective.
#pragma once

#include <functional>

#include "mesh/exchange/communicator.h"

namespace tenon::mesh {

/// Run `body` once for each rank, all at the same time, and wait for all. When one throws, the others' collectives
/// throw too, and the first error is rethrown. Combinations are made in the order of ranks: the same bits in every run.
void run_as_threads(int ranks, const std::function<void(Communicator&)>& body);

}  // namespace tenon::mesh
