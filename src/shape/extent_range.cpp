#include "shape/extent_range.h"

#include <algorithm>

#include "base/checked.h"
#include "shape/congruence.h"
#include "shape/interval.h"
#include "shape/not_representable.h"
#include "tenon/error.h"

namespace tenon {

using algebra::Atom;
using algebra::AtomKind;
using algebra::AtomRef;
using algebra::Term;
using algebra::TermsOf;

namespace {

constexpr int kMaxRewrites = 3;    // one inside the other
constexpr size_t kMaxSteps = 100;  // bounds computed in one query
constexpr size_t kMaxLength = 48;  // longer sums get the plain bounds only

Extent replaced(const Extent& e, const Atom& atom, const Extent& by) {
  return algebra::transform_atoms(
      e, [&](const AtomRef& a) { return compare_atoms(*a, atom) == 0 ? by : algebra::of_atom(a); });
}

/// Whether the atom occurs once in the outermost sum, alone in its term. Then the sum is monotonic in it.
bool occurs_linearly(const Extent& e, const Atom& atom) {
  size_t occurrences = 0;
  for (const Term& t : TermsOf(e)) {
    for (size_t i = 0; t.monomial != nullptr && i < t.monomial->factors.size(); ++i) {
      if (compare_atoms(*t.monomial->factors[i].atom, atom) == 0) {
        occurrences += t.monomial->degree == 1 ? 1U : 2U;
      }
    }
  }
  return occurrences == 1;
}

bool has_product(const Extent& e) {
  const TermsOf terms(e);
  return terms.size() > 1 && terms.begin()->monomial->degree > 1;
}

}  // namespace

Scaled scale_names(const Extent& extent, const Assumptions& known) {
  Scaled scaled{extent, known};
  if (extent.is_constant() || known.facts().empty()) {
    return scaled;
  }
  std::map<std::string, Extent, std::less<>> by;
  Assumptions rescaled;
  for (const auto& [name, fact] : known.facts()) {
    const Interval range = exact_quotients(fact.range, fact.multiple);
    if (const auto value = fact.range.value()) {
      by.emplace(name, *value);
      continue;
    }
    if (fact.multiple != 1) {
      by.emplace(name, fact.multiple * Extent::name(name));
    }
    if (range.low) {
      rescaled.at_least(name, *range.low);
    } else {
      rescaled.unbounded_below(name);
    }
    if (range.high) {
      rescaled.at_most(name, *range.high);
    }
  }
  if (by.empty()) {
    return scaled;
  }
  try {
    return {extent.substitute(by), std::move(rescaled)};
  } catch (const NotRepresentable&) {  // overflow: reason about the names as they are
    return scaled;
  }
}

bool RangeFinder::affordable(const Extent& e, int depth) const {
  return depth < kMaxRewrites && steps_ < kMaxSteps && TermsOf(e).size() <= kMaxLength;
}

Interval RangeFinder::range(const Extent& e, int depth) {
  if (const auto value = e.constant()) {
    return Interval::single(*value);
  }
  if (const auto found = found_.find(e); found != found_.end() && found->second.depth <= depth) {
    return found->second.range;
  }
  ++steps_;
  const Interval result = compute(e, depth);
  found_.insert_or_assign(e, Found{result, depth});
  return result;
}

Interval RangeFinder::compute(const Extent& e, int depth) {
  Interval result = of_terms(e, depth);
  const auto refine = [&](const auto& bound) {
    try {
      result = intersect(result, bound());
    } catch (const NotRepresentable&) {  // the rewritten form left the limits of extents; the other bounds stand
    }
  };
  if (affordable(e, depth)) {
    if (has_product(e)) {
      refine([&] { return of_shifted(e, depth, false); });
      refine([&] { return of_shifted(e, depth, true); });
    }
    if (TermsOf(e).size() > 1) {
      for (const AtomRef& atom : algebra::top_atoms(e)) {
        if (atom->kind == AtomKind::floordiv) {
          refine([&] { return without_division(e, atom, depth); });
        } else if (atom->kind != AtomKind::name) {
          refine([&] { return by_cases(e, *atom, depth); });
        }
      }
    }
  }
  const Congruence c = congruence_of(e, [&](std::string_view name) { return known_.multiple_of(name); });
  if (c.modulus > 1) {
    result = intersect(result, only_residue(result, c.rest, c.modulus));
  }
  return result;
}

Interval RangeFinder::of_atom(const Atom& atom, int depth) {
  if (atom.kind == AtomKind::name) {
    return known_.range_of(atom.name);
  }
  Interval result = range(atom.operands[0], depth);
  for (size_t i = 1; i < atom.operands.size(); ++i) {
    const Interval next = range(atom.operands[i], depth);
    result = atom.kind == AtomKind::floordiv ? floordiv(result, next)
             : atom.kind == AtomKind::min    ? min(result, next)
                                             : max(result, next);
  }
  return result;
}

Interval RangeFinder::of_terms(const Extent& e, int depth) {
  Interval sum = Interval::single(0);
  for (const Term& t : TermsOf(e)) {
    Interval product = Interval::single(t.coefficient);
    for (size_t i = 0; t.monomial != nullptr && i < t.monomial->factors.size(); ++i) {
      const algebra::Factor& f = t.monomial->factors[i];
      product = multiply(product, power(of_atom(*f.atom, depth), f.power));
    }
    sum = add(sum, product);
  }
  return sum;
}

/// b*s - s with b >= 1 is (b'+1)*s - s = b'*s with b' = b - 1 >= 0: measuring each atom from an end of its range makes
/// the signs of products visible. With `prefer_high`, from the upper end where there is one.
Interval RangeFinder::of_shifted(const Extent& e, int depth, bool prefer_high) {
  bool shifted = false;
  const auto origin = [&](const Atom& atom) -> std::pair<int64_t, int64_t> {  // {end, direction}
    const Interval r = of_atom(atom, depth);
    if (r.high && (prefer_high || !r.low)) {
      return {*r.high, -1};
    }
    return {r.low.value_or(0), 1};
  };
  const Extent moved = algebra::transform_atoms(e, [&](const AtomRef& atom) {
    const auto [end, direction] = origin(*atom);
    shifted = shifted || end != 0 || direction != 1;
    return end + direction * algebra::of_atom(atom);
  });
  if (!shifted) {
    return {};
  }
  Interval sum = Interval::single(0);
  for (const Term& t : TermsOf(moved)) {
    Interval product = Interval::single(t.coefficient);
    for (size_t i = 0; t.monomial != nullptr && i < t.monomial->factors.size(); ++i) {
      const algebra::Factor& f = t.monomial->factors[i];
      const auto [end, direction] = origin(*f.atom);
      const Interval distance = scale(subtract(of_atom(*f.atom, depth), Interval::single(end)), direction);
      product = multiply(product, power(distance, f.power));
    }
    sum = add(sum, product);
  }
  return sum;
}

/// A minimum is one of its operands, and at most each of them.
Interval RangeFinder::by_cases(const Extent& e, const Atom& extremum, int depth) {
  std::optional<Interval> all;
  Interval each;  // bounds that every case gives at once
  const bool linear = occurs_linearly(e, extremum);
  const Extent factor = linear ? algebra::cofactor(e, extremum) : Extent();
  const bool from_above = (extremum.kind == AtomKind::min) == (factor > Extent(0));
  for (const Extent& operand : extremum.operands) {
    const Interval one = range(replaced(e, extremum, operand), depth + 1);
    all = all ? hull(*all, one) : one;
    if (linear) {
      each = intersect(each, from_above ? Interval{std::nullopt, one.high} : Interval{one.low, std::nullopt});
    }
  }
  return intersect(*all, each);
}

/// With f = x floordiv d and m = x mod d: d*f = x - m, where 0 <= m <= d-1 for d >= 1.
Interval RangeFinder::without_division(const Extent& e, const AtomRef& division, int depth) {
  const Extent& x = division->operands[0];
  const Extent& d = division->operands[1];
  const Interval divisors = range(d, depth);
  if (divisors.low.value_or(0) < 1) {
    return {};
  }
  const Extent f = algebra::of_atom(division);
  const Extent factor = algebra::cofactor(e, *division);
  if (const auto k = divide_exactly(factor, d)) {  // e = others + k*d*f = others + k*x - k*m
    const Extent base = e - factor * f + *k * x;
    const Interval sign = range(*k, depth + 1);
    if (sign.low.value_or(-1) >= 0) {
      return {range(base - *k * (d - 1), depth + 1).low, range(base, depth + 1).high};
    }
    if (sign.high.value_or(1) <= 0) {
      return {range(base, depth + 1).low, range(base - *k * (d - 1), depth + 1).high};
    }
    return {};
  }
  const auto c = factor.constant();
  if (!c) {
    return {};
  }
  const Extent others = e - factor * f;
  if (d.is_constant()) {  // d*e = d*others + c*x - c*m
    const Interval rests = scale({0, *d.constant() - 1}, *c);
    return exact_quotients(subtract(range(d * others + factor * x, depth + 1), rests), *d.constant());
  }
  if (range(x, depth).low.value_or(-1) >= 0) {  // 0 <= f <= x
    const Interval bound = range(others + factor * x, depth + 1);
    return *c > 0 ? Interval{std::nullopt, bound.high} : Interval{bound.low, std::nullopt};
  }
  return {};
}

}  // namespace tenon
