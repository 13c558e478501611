#include "schedule/affine.h"

#include "base/hash.h"

namespace tenon {

loop::Affine affine_axis(int axis) { return {.base = 0, .terms = {{axis, 1}}}; }

loop::Affine affine_constant(Extent value) { return {.base = std::move(value), .terms = {}}; }

loop::Affine add(const loop::Affine& a, const loop::Affine& b) {
  loop::Affine sum{.base = a.base + b.base, .terms = {}};
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

loop::Affine scale(const loop::Affine& a, const Extent& by) {
  if (by == Extent(0)) {
    return {};
  }
  loop::Affine scaled{.base = a.base * by, .terms = a.terms};
  for (loop::Term& term : scaled.terms) {
    term.scale *= by;
  }
  return scaled;
}

AxisSet axes_of(const loop::Affine& a) {
  AxisSet set = 0;
  for (const loop::Term& term : a.terms) {
    set |= axis_bit(term.axis);
  }
  return set;
}

Extent scale_along(const loop::Affine& a, int axis) {
  for (const loop::Term& term : a.terms) {
    if (term.axis == axis) {
      return term.scale;
    }
  }
  return 0;
}

loop::Affine substitute(const loop::Affine& a, int axis, const loop::Affine& by) {
  const Extent moved = scale_along(a, axis);
  if (moved == Extent(0)) {
    return a;
  }
  loop::Affine rest{.base = a.base, .terms = {}};
  for (const loop::Term& term : a.terms) {
    if (term.axis != axis) {
      rest.terms.push_back(term);
    }
  }
  return add(rest, scale(by, moved));
}

uint64_t hash(const loop::Affine& a) {
  uint64_t h = a.base.hash();
  for (const loop::Term& term : a.terms) {
    h = combine_hash(h, static_cast<uint64_t>(term.axis));
    h = combine_hash(h, term.scale.hash());
  }
  return h;
}

}  // namespace tenon
