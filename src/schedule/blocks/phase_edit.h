// Changes of a kernel that has one phase.
#pragma once

#include <functional>

#include "kernel/loop/loop.h"

namespace tenon::schedule {

/// It is no tile, or none of its tiles is shorter than others.
bool is_whole(const loops::Axis& axis);

int add_axis(loops::Kernel& kernel, loops::Axis axis);
int add_value(loops::Kernel& kernel, loops::Value value);
int add_compute(loops::Kernel& kernel, Prim prim, Dtype dtype, Dtype operand_dtype, std::vector<int> operands);
int add_constant(loops::Kernel& kernel, Dtype dtype, double literal);

/// f(affine) for every position of values, and of stores; not those of products.
void for_each_position(loops::Kernel& kernel, const std::function<void(loops::Affine&)>& f);
/// `by` in place of an axis, wherever it stands.
void substitute_axis(loops::Kernel& kernel, int axis, const loops::Affine& by);
/// Takes out axes, values and accumulators that nothing names.
loops::Kernel pruned(const loops::Kernel& kernel);

}  // namespace tenon::schedule
