// Ranks compare what must be the same on all of them.
#pragma once

#include <cstdint>

#include "mesh/exchange/communicator.h"

namespace tenon::mesh {

/// Error on every rank unless all give the same number; it names the first rank that has another one than rank 0.
/// `what` says of what.
void require_same_on_all(Communicator& world, uint64_t number, const char* what);

}  // namespace tenon::mesh
