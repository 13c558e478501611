#include "schedule/draft/affine.h"

#include "base/hash.h"

namespace tenon::schedule {

loops::Affine affine_axis(int axis) { return {.base = 0, .terms = {{axis, 1}}}; }

loops::Affine affine_constant(Extent value) { return {.base = std::move(value), .terms = {}}; }

loops::Affine add(const loops::Affine& a, const loops::Affine& b) {
  loops::Affine sum{.base = a.base + b.base, .terms = {}};
  size_t i = 0;
  size_t j = 0;
  while (i < a.terms.size() || j < b.terms.size()) {
    if (j == b.terms.size() || (i < a.terms.size() && a.terms[i].axis < b.terms[j].axis)) {
      sum.terms.push_back(a.terms[i++]);
    } else if (i == a.terms.size() || b.terms[j].axis < a.terms[i].axis) {
      sum.terms.push_back(b.terms[j++]);
    } else {
      Extent both = a.terms[i].scale + b.terms[j].scale;
      if (both != Extent(0)) {
        sum.terms.push_back({a.terms[i].axis, std::move(both)});
      }
      ++i;
      ++j;
    }
  }
  return sum;
}

loops::Affine scale(const loops::Affine& a, const Extent& by) {
  if (by == Extent(0)) {
    return {};
  }
  loops::Affine scaled{.base = a.base * by, .terms = a.terms};
  for (loops::Term& term : scaled.terms) {
    term.scale *= by;
  }
  return scaled;
}

AxisSet axes_of(const loops::Affine& a) {
  AxisSet set = 0;
  for (const loops::Term& term : a.terms) {
    set |= axis_bit(term.axis);
  }
  return set;
}

Extent scale_along(const loops::Affine& a, int axis) {
  for (const loops::Term& term : a.terms) {
    if (term.axis == axis) {
      return term.scale;
    }
  }
  return 0;
}

loops::Affine substitute(const loops::Affine& a, int axis, const loops::Affine& by) {
  const Extent moved = scale_along(a, axis);
  if (moved == Extent(0)) {
    return a;
  }
  loops::Affine rest{.base = a.base, .terms = {}};
  for (const loops::Term& term : a.terms) {
    if (term.axis != axis) {
      rest.terms.push_back(term);
    }
  }
  return add(rest, scale(by, moved));
}

uint64_t hash(const loops::Affine& a) {
  uint64_t h = a.base.hash();
  for (const loops::Term& term : a.terms) {
    h = combine_hash(h, static_cast<uint64_t>(term.axis));
    h = combine_hash(h, term.scale.hash());
  }
  return h;
}

}  // namespace tenon::schedule
