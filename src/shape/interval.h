// Arithmetic of intervals: the smallest interval with ends of 64 bits that holds every exact result, also those that
// are themselves too large for 64 bits.
#pragma once

#include "tenon/interval.h"

namespace tenon {

Interval add(const Interval& a, const Interval& b);
Interval negate(const Interval& a);
Interval subtract(const Interval& a, const Interval& b);
Interval multiply(const Interval& a, const Interval& b);
Interval scale(const Interval& a, int64_t by);
Interval power(const Interval& a, uint32_t exponent);  // x*x is never negative, which multiply(a, a) cannot know
Interval floordiv(const Interval& a,
                  const Interval& b);  // for divisors in b other than 0; everything when there are none
Interval min(const Interval& a, const Interval& b);
Interval max(const Interval& a, const Interval& b);

Interval hull(const Interval& a, const Interval& b);  // the smallest that holds both
/// What is in both. Both are bounds of one value, so nothing in common means that there is no such value; then `a`.
Interval intersect(const Interval& a, const Interval& b);

/// The integers x with d*x in `a`, for d > 0.
Interval exact_quotients(const Interval& a, int64_t d);
/// Only the numbers that are r modulo m, for m > 0.
Interval only_residue(const Interval& a, int64_t r, int64_t m);

}  // namespace tenon
