// How much cache a kernel counts on.
#pragma once

#include "kernel/loop/loop.h"

namespace tenon::schedule {

/// Bytes that one iteration of the grid keeps in scratch, and those that it loads from inputs between reading an
/// element and reading it again in another place: rows that are read again. The most of all phases.
Extent repeated_bytes(const loops::Kernel& kernel);

/// Whether no more than one phase reads whole rows of its inputs.
bool reads_once(const loops::Kernel& kernel);

}  // namespace tenon::schedule
