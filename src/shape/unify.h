// Two axes that meet in an operator become one.
#pragma once

#include <cstdint>
#include <vector>

#include "tenon/constraint.h"
#include "tenon/shape.h"

namespace tenon {

/// What two different names that somebody chose mean when they meet: a mistake (the C++ API), or two spellings of one
/// size, checked when bound (models from files, whose exporters invent names).
enum class NameRule : uint8_t { strict, unify };

/// The axis, and what must hold for it to be right. The caller adds needed_by and place.
struct Unified {
  Axis axis;
  std::vector<Constraint> constraints = {};
};

/// The axis that both are.
///   -1 and n              n
///   n and n               n
///   hidden, hidden=768    hidden=768   needs hidden == 768
///   batch and time        an Error, or batch needs time == batch
///   n and 8               n=8          needs n == 8
///   seq+1 and seq         an Error: they differ for every seq
/// Error (without the shapes, which the caller notes): the axes differ, or two names do in strict mode.
Unified unify(const Axis& a, const Axis& b, NameRule rule);

/// The axis that both broadcast to, as aligned axes in NumPy. As unify(), and:
///   1 and n               n
///   n and 8               8            needs n broadcasts to 8; also where 8 is an expression that cannot be 1
///   x.0 and n             n            needs x.0 broadcasts to n: nobody named x.0, so it may be 1
///   max(n-1, 0) and n     n            needs max(n-1, 0) broadcasts to n: a slice of n may leave one element
Unified broadcast_axes(const Axis& a, const Axis& b, NameRule rule);

/// Whether `part` is provably at most `whole`, at every size.
bool never_exceeds(const Extent& part, const Extent& whole);

}  // namespace tenon
