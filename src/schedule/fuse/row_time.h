// What going over rows that are out of cache costs on a machine.
#pragma once

#include <cstdint>

#include "kernel/loop/loop.h"

namespace tenon::schedule {

/// Cycles, roughly, for one element of rows that do not stay in cache, with vectors of so many bytes. A loop over a row
/// takes as long as the longer of its arithmetic and its memory; loops over one tile read it from memory once.
double row_time(const loops::Kernel& kernel, int64_t vector_bytes);

}  // namespace tenon::schedule
