// Arithmetic of affine positions.
#pragma once

#include <cstdint>

#include "kernel/loop.h"

namespace tenon {

/// The loop variables that something depends on: bit i is axis i. A kernel has at most 64.
using AxisSet = uint64_t;

inline AxisSet axis_bit(int axis) { return AxisSet{1} << axis; }
inline bool contains(AxisSet set, int axis) { return (set & axis_bit(axis)) != 0; }
inline bool is_subset(AxisSet inner, AxisSet outer) { return (inner & ~outer) == 0; }

loop::Affine affine_axis(int axis);
loop::Affine affine_constant(Extent value);
loop::Affine add(const loop::Affine& a, const loop::Affine& b);
loop::Affine scale(const loop::Affine& a, const Extent& by);
AxisSet axes_of(const loop::Affine& a);
/// What the position moves by when `axis` moves by one; 0 when it does not.
Extent scale_along(const loop::Affine& a, int axis);
/// The same position with `by` in place of `axis`.
loop::Affine substitute(const loop::Affine& a, int axis, const loop::Affine& by);

uint64_t hash(const loop::Affine& a);

}  // namespace tenon
