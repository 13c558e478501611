// How operators treat axes: matching those of two operands, checking lists of axis numbers.
#pragma once

#include <string>
#include <vector>

#include "ops/infer.h"

namespace tenon {

/// "`a`" for an input, "f32[2, 3]" for a lazy tensor, which has no name, else "the result of relu".
std::string describe(const Value& value);

/// The axis that axis `i` of `a` and axis `j` of `b` both are; what that needs is added to `constraints`.
Axis match_axes(const Value& a, int i, const Value& b, int j, std::vector<Constraint>& constraints);

/// NumPy broadcasting of several lists of axes, aligned at the last, under this thread's rule for names.
std::vector<Axis> broadcast_lists(const std::vector<std::vector<Axis>>& lists);

/// How many elements there are along each.
std::vector<Extent> extents_of(const std::vector<Axis>& axes);

/// Numbers counted from the front, in [0, rank); out of range or twice the same is an error.
std::vector<int> normalize_axes(const std::vector<int>& axes, const Shape& shape);

/// 0 ... n-1 without those in `taken` (already normalized), in order.
std::vector<int> other_axes(int n, const std::vector<int>& taken);
std::vector<int> other_axes(int n, const std::vector<int>& taken, const std::vector<int>& also_taken);

/// A list without an operand check of its own: `axes` must already be in [0, rank), each once.
void require_axes(const std::vector<int>& axes, const Shape& shape, std::string_view what);

}  // namespace tenon
