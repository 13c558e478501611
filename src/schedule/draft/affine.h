// Arithmetic of affine positions.
#pragma once

#include <cstdint>

#include "kernel/loop/loop.h"

namespace tenon::schedule {

/// The loop variables that something depends on: bit i is axis i. A kernel has at most 64.
using AxisSet = uint64_t;

inline AxisSet axis_bit(int axis) { return AxisSet{1} << axis; }
inline bool contains(AxisSet set, int axis) { return (set & axis_bit(axis)) != 0; }
inline bool is_subset(AxisSet inner, AxisSet outer) { return (inner & ~outer) == 0; }

loops::Affine affine_axis(int axis);
loops::Affine affine_constant(Extent value);
loops::Affine add(const loops::Affine& a, const loops::Affine& b);
loops::Affine scale(const loops::Affine& a, const Extent& by);
AxisSet axes_of(const loops::Affine& a);
/// What the position moves by when `axis` moves by one; 0 when it does not.
Extent scale_along(const loops::Affine& a, int axis);
/// The same position with `by` in place of `axis`.
loops::Affine substitute(const loops::Affine& a, int axis, const loops::Affine& by);

uint64_t hash(const loops::Affine& a);

}  // namespace tenon::schedule
