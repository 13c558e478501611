// Sizes from some of the inputs of a graph.
#pragma once

#include <span>

#include "kernel/program/signature.h"
#include "shape/constraint_set.h"
#include "tenon/array.h"
#include "tenon/bindings.h"

namespace tenon::mesh {

/// The names that these whole inputs and `known` bind, with those that the constraints imply. One for each input of the
/// signature, null where it is not there. Error: dtype, rank or sizes of an input, a constraint.
Bindings bind_given(const Signature& whole, const ConstraintSet& constraints, std::span<const Array* const> inputs,
                    const Bindings& known = {});

}  // namespace tenon::mesh
