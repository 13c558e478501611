// Statements that are appended to a block, with the values that they define.
#pragma once

#include <vector>

#include "kernel/loop/loop.h"

namespace tenon::schedule {

loops::Statement loop_around(int axis, loops::Block body);

/// The value.
int define(loops::Block& block, int value);

/// An element of a buffer, as `dtype`.
int load_as(loops::Kernel& kernel, loops::Block& block, Dtype dtype, int buffer, loops::Affine at,
            std::vector<loops::Bound> inside = {});

void write(loops::Block& block, int buffer, loops::Affine at, int value, std::vector<loops::Bound> inside = {});

/// A value of a dtype; 0 where the bound's index, which is not negative, does not lie inside.
int zero_outside(loops::Kernel& kernel, loops::Block& block, int value, Dtype dtype, const loops::Bound& bound);

}  // namespace tenon::schedule
