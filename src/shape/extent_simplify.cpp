// Simplification and comparison under assumptions.
#include <algorithm>

#include "base/checked.h"
#include "shape/congruence.h"
#include "shape/extent_polynomial.h"
#include "shape/extent_range.h"
#include "shape/not_representable.h"
#include "tenon/assumptions.h"
#include "tenon/error.h"

namespace tenon {

using algebra::Atom;
using algebra::AtomKind;
using algebra::AtomRef;
using algebra::Term;
using algebra::TermsOf;

namespace {

enum class Purpose { reading, comparing };

class Simplifier {
 public:
  Simplifier(const Assumptions& known, Purpose purpose) : ranges_(known), purpose_(purpose) {}

  Extent simplified(const Extent& e) {
    return algebra::transform_atoms(e, [&](const AtomRef& atom) { return simplified_atom(atom); });
  }

 private:
  Extent simplified_atom(const AtomRef& atom) {
    if (atom->kind == AtomKind::name) {
      return algebra::of_atom(atom);
    }
    std::vector<Extent> operands;
    for (const Extent& operand : atom->operands) {
      operands.push_back(simplified(operand));
    }
    if (atom->kind == AtomKind::floordiv) {
      return simplified_division(operands[0], operands[1]);
    }
    drop_dominated(atom->kind, operands);
    const Extent e = algebra::rebuild(atom->kind, operands);
    if (const auto value = ranges_.range(e).value()) {
      return *value;
    }
    return purpose_ == Purpose::comparing ? with_common_offset(e) : e;
  }

  bool at_least(const Extent& a, const Extent& b) {
    try {
      return ranges_.range(a - b).low.value_or(-1) >= 0;
    } catch (const NotRepresentable&) {  // the difference overflows: nothing is proven
      return false;
    }
  }

  /// Operands that another one always beats. Of two that are always equal the first goes, so one stays.
  void drop_dominated(AtomKind kind, std::vector<Extent>& operands) {
    constexpr size_t kMaxCompared = 12;
    if (operands.size() > kMaxCompared) {
      return;
    }
    for (size_t i = 0; i < operands.size();) {
      const bool dominated = std::any_of(operands.begin(), operands.end(), [&](const Extent& other) {
        return &other != &operands[i] &&
               (kind == AtomKind::max ? at_least(other, operands[i]) : at_least(operands[i], other));
      });
      if (dominated) {
        operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        ++i;
      }
    }
  }

  Extent simplified_division(const Extent& x, const Extent& d) {
    const Extent e = floordiv(x, d);
    if (const auto value = ranges_.range(e).value()) {
      return *value;
    }
    const Atom* atom = algebra::as_atom(e);
    if (atom == nullptr || atom->kind != AtomKind::floordiv) {
      return e;
    }
    const Extent dividend = atom->operands[0];
    const Extent divisor = atom->operands[1];
    if (divisor.is_constant()) {
      return purpose_ == Purpose::comparing ? with_lower_half(e, dividend, *divisor.constant()) : e;
    }
    if (ranges_.range(divisor).low.value_or(0) < 1) {
      return e;
    }
    if (at_least(dividend, 0) && at_least(divisor - 1, dividend)) {
      return 0;
    }
    // A quotient rounded up by a positive divisor, as the rounding down that it also is.
    return algebra::leads_negative(dividend) ? -1 - floordiv(-dividend - 1, divisor) : e;
  }

  /// max(s-1, 0) is max(s, 1)-1: the first operand without its constant.
  static Extent with_common_offset(const Extent& e) {
    const Atom* atom = algebra::as_atom(e);
    if (atom == nullptr || (atom->kind != AtomKind::min && atom->kind != AtomKind::max)) {
      return e;
    }
    const int64_t offset = algebra::constant_term(atom->operands[0]);
    std::vector<Extent> operands;
    for (const Extent& operand : atom->operands) {
      operands.push_back(operand - offset);
    }
    return algebra::rebuild(atom->kind, operands) + offset;
  }

  /// With x = (d/2)*m + r there are two forms, as floordiv(x, d) = m - floordiv((d/2)*m - r + d-1, d): halves of n
  /// rounded down and up are n together. The one is taken whose r begins positive or has the smaller constant.
  static Extent with_lower_half(const Extent& e, const Extent& x, int64_t d) {
    const std::vector<Term>& terms = algebra::Access::polynomial(x)->terms;
    const Term& lead = terms[0];
    if (d % 2 != 0 || lead.coefficient != d / 2) {
      return e;
    }
    const auto decisive = std::find_if(terms.begin() + 1, terms.end(),
                                       [&](const Term& t) { return t.monomial != nullptr && t.coefficient != d / 2; });
    const int64_t c = algebra::constant_term(x);
    if (decisive != terms.end() ? decisive->coefficient > 0 : c <= d - 1 - c) {
      return e;
    }
    const Extent half = algebra::from_terms({lead});
    return algebra::from_terms({{lead.monomial, 1}}) - floordiv(half - (x - half) + (d - 1), d);
  }

  RangeFinder ranges_;
  Purpose purpose_;
};

/// The inverse of scale_names: a name that stands for 1/k of itself is written as such again.
Extent unscaled(const Extent& e, const Assumptions& known) {
  Extent sum;
  for (const Term& t : TermsOf(e)) {
    int64_t coefficient = t.coefficient;
    Extent product = 1;
    for (size_t i = 0; t.monomial != nullptr && i < t.monomial->factors.size(); ++i) {
      const algebra::Factor& f = t.monomial->factors[i];
      const bool is_name = f.atom->kind == AtomKind::name;
      const int64_t k = is_name ? known.multiple_of(f.atom->name) : 1;
      std::vector<Extent> operands;
      for (const Extent& operand : f.atom->operands) {
        operands.push_back(unscaled(operand, known));
      }
      const Extent whole = is_name ? algebra::of_atom(f.atom) : algebra::rebuild(f.atom->kind, operands);
      for (uint32_t power = 0; power < f.power; ++power) {
        const bool divides = coefficient % k == 0;
        coefficient /= divides ? k : 1;
        product *= divides ? whole : floordiv(whole, k);
      }
    }
    sum += coefficient * product;
  }
  return sum;
}

}  // namespace

Extent simplify(const Extent& extent, const Assumptions& known) {
  if (extent.is_constant()) {
    return extent;
  }
  try {
    const Scaled scaled = scale_names(extent, known);
    const Extent simple = Simplifier(scaled.known, Purpose::reading).simplified(scaled.extent);
    if (const auto value = RangeFinder(scaled.known).range(simple).value()) {
      return *value;
    }
    return scaled.known == known ? simple : unscaled(simple, known);
  } catch (const NotRepresentable&) {  // beyond the limits on the way: it stays as it is
    return extent;
  }
}

Comparison compare(const Extent& a, const Extent& b, const Assumptions& known) {
  if (a == b) {
    return Comparison::equal;
  }
  if (a.is_constant() && b.is_constant()) {
    return Comparison::different;
  }
  try {
    const Extent difference = a - b;
    if (difference.is_constant()) {
      return Comparison::different;
    }
    const Scaled scaled = scale_names(difference, known);
    const Extent simple = Simplifier(scaled.known, Purpose::comparing).simplified(scaled.extent);
    const Interval range = RangeFinder(scaled.known).range(simple);
    if (range == Interval::single(0)) {
      return Comparison::equal;
    }
    const auto multiple_of = [&](std::string_view name) { return scaled.known.multiple_of(name); };
    if (!range.contains(0) || !congruence_of(simple, multiple_of).admits(0)) {
      return Comparison::different;
    }
  } catch (const NotRepresentable&) {  // overflow or beyond the limits: nothing is proven
  }
  return Comparison::unknown;
}

bool proves_at_least(const Extent& a, const Extent& b, const Assumptions& known) {
  try {
    const Extent gap = a - b;
    if (const auto number = gap.constant()) {
      return *number >= 0;
    }
    const Scaled scaled = scale_names(gap, known);
    RangeFinder ranges(scaled.known);
    if (ranges.range(scaled.extent).low.value_or(-1) >= 0) {
      return true;
    }
    const Extent simple = Simplifier(scaled.known, Purpose::comparing).simplified(scaled.extent);
    return ranges.range(simple).low.value_or(-1) >= 0;
  } catch (const NotRepresentable&) {  // overflow or beyond the limits: nothing is proven
    return false;
  }
}

}  // namespace tenon
