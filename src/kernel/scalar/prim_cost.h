// What primitives cost, for all who weigh one computation against another.
#pragma once

#include "kernel/scalar/scalar.h"
#include "tenon/dtype.h"

namespace tenon {

/// Rough, of one vector in additions; a function of f64 is a call for each element. `dtype` is that of the operands.
int cost(Prim prim, Dtype dtype);

/// Dear enough that a store and a load of a row in cache are cheaper than to compute it again.
bool is_heavy(Prim prim);

}  // namespace tenon
