// Bounds of extents from facts about names.
#pragma once

#include <cstddef>
#include <unordered_map>

#include "shape/extent_polynomial.h"
#include "tenon/assumptions.h"

namespace tenon {

/// The extent and the assumptions with every name that has one value replaced by it, and with every name that is a
/// multiple of k replaced by k times itself, so that the algebra sees the multiples. Names stay, their meaning changes.
struct Scaled {
  Extent extent;
  Assumptions known;
};
Scaled scale_names(const Extent& extent, const Assumptions& known);

/// Finds intervals for extents whose names have been scaled. Bounds are sound; how tight they are is bounded by a
/// budget, so that no query takes long. Holds a reference to the assumptions.
class RangeFinder {
 public:
  explicit RangeFinder(const Assumptions& known) : known_(known) {}

  Interval range(const Extent& e) { return range(e, 0); }

 private:
  struct Found {
    Interval range;
    int depth = 0;  // of the rewriting that found it: a deeper search stops earlier
  };

  Interval range(const Extent& e, int depth);
  Interval compute(const Extent& e, int depth);
  Interval of_atom(const algebra::Atom& atom, int depth);
  Interval of_terms(const Extent& e, int depth);
  Interval of_shifted(const Extent& e, int depth, bool prefer_high);
  Interval by_cases(const Extent& e, const algebra::Atom& extremum, int depth);
  Interval without_division(const Extent& e, const algebra::AtomRef& division, int depth);
  bool affordable(const Extent& e, int depth) const;

  const Assumptions& known_;
  std::unordered_map<Extent, Found> found_;
  size_t steps_ = 0;
};

}  // namespace tenon
