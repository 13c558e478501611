// Elements from one place in memory to another, in whatever order they lie at either.
#pragma once

#include "runtime/memory/operand.h"

namespace tenon::runtime {

/// Copy the elements of a tensor to another of the same dtype and dims, no two of whose elements share memory. Neither
/// needs to be aligned. The memories may overlap where both are row-major, without gaps.
void copy_elements(const Operand& from, const Operand& to);

}  // namespace tenon::runtime
