// Scratch that is written in place of the scratch it is computed from.
#pragma once

#include <vector>

#include "kernel/loop/loop.h"

namespace tenon::schedule {

/// By buffer: the one whose place it takes, or itself. A tile that a product left and that one loop after it reads
/// element by element gives its place to scratch of equal size which that loop stores to at the same places: what is
/// overwritten is not read again.
///   before: t = a * b; loop i { loop j { s[i, j] = exp(t[i, j]) } }; c = s * d
///   after:  t = a * b; loop i { loop j { t[i, j] = exp(t[i, j]) } }; c = t * d
/// The scores of attention then take half as much of the second cache.
std::vector<int> find_in_place(const loops::Kernel& kernel);

}  // namespace tenon::schedule
