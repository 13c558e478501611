// Which operands a routine takes.
#pragma once

#include <span>

#include "kernel/program/library_routine.h"
#include "tenon/shape.h"

namespace tenon {

/// Whether a routine reads and writes arrays of such shapes. What only sizes decide is left to the constraints.
bool fits(const LibraryRoutine& routine, std::span<const Shape> reads, std::span<const Shape> writes);

}  // namespace tenon
