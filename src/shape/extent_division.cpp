// floordiv, and ceildiv, mod and exact division by it. Rules used, each true for all integers with d != 0:
//   floordiv(q*d + r, d) = q + floordiv(r, d)                   multiples come out
//   floordiv(g*x, g*d) = floordiv(x, d)                         common factors cancel
//   floordiv(g*x + c, g*d) = floordiv(x + floordiv(c, g), d)    g > 0 and d > 0
//   floordiv(-x, d) = -floordiv(x + d - 1, d)                   d > 0: the first term of a dividend is positive
//   floordiv(floordiv(x, e) + r, d) = floordiv(x + e*r, e*d)    d > 0
#include <limits>
#include <map>
#include <numeric>

#include "base/checked.h"
#include "shape/extent_polynomial.h"
#include "shape/not_representable.h"

namespace tenon {

using algebra::ArithmeticOverflow;
using algebra::Atom;
using algebra::AtomKind;
using algebra::MonomialRef;
using algebra::Term;
using algebra::TermsOf;

namespace {

__extension__ using Wide = __int128;

struct Division {
  Extent quotient;
  Extent rest;
};

[[noreturn]] void division_by_zero(const Extent& a, std::string_view operation) {
  not_representable("extent divides by zero: {} {} 0", algebra::brief_operand(a), operation);
}

/// The remainder of least magnitude, d/2 rather than -d/2: coefficients stay small whichever sign they had.
int64_t nearest_remainder(int64_t value, int64_t d) {
  const int64_t r = *checked_floormod(value, d);
  return r > d - r ? r - d : r;
}

int64_t quotient_without(int64_t value, int64_t rest, int64_t d) {
  return static_cast<int64_t>((Wide{value} - rest) / d);
}

uint64_t magnitude(int64_t v) { return v < 0 ? uint64_t{0} - static_cast<uint64_t>(v) : static_cast<uint64_t>(v); }

/// The greatest common divisor of `seed` and all coefficients; 0 is neutral.
uint64_t content(const Extent& e, uint64_t seed, bool with_constant) {
  for (const Term& t : TermsOf(e)) {
    if (with_constant || t.monomial != nullptr) {
      seed = std::gcd(seed, magnitude(t.coefficient));
    }
  }
  return seed;
}

Division split_by_constant(const Extent& a, int64_t d) {
  std::vector<Term> quotient;
  std::vector<Term> rest;
  for (const Term& t : TermsOf(a)) {
    // The constant alone is kept in [0, d), so that rounding up reads as (x + d - 1) floordiv d.
    const int64_t r = t.monomial != nullptr ? nearest_remainder(t.coefficient, d) : *checked_floormod(t.coefficient, d);
    quotient.push_back({t.monomial, quotient_without(t.coefficient, r, d)});
    rest.push_back({t.monomial, r});
  }
  return {algebra::from_terms(std::move(quotient)), algebra::from_terms(std::move(rest))};
}

/// The only term of `e` that is plus or minus a division, when there is exactly one.
const Term* single_division(const Extent& e) {
  const Term* found = nullptr;
  for (const Term& t : algebra::Access::polynomial(e)->terms) {
    const bool is_division = t.monomial != nullptr && t.monomial->degree == 1 &&
                             t.monomial->factors[0].atom->kind == AtomKind::floordiv &&
                             (t.coefficient == 1 || t.coefficient == -1);
    if (is_division && found != nullptr) {
      return nullptr;
    }
    found = is_division ? &t : found;
  }
  return found;
}

/// floordiv(sign * floordiv(x, e) + r, d) as one division, unless that leaves 64 bits or the limits.
std::optional<Extent> merge_nested(const Extent& rest, int64_t d) {
  const Term* inner = single_division(rest);
  if (inner == nullptr) {
    return std::nullopt;
  }
  const Atom& atom = *inner->monomial->factors[0].atom;
  const Extent& x = atom.operands[0];
  const Extent& e = atom.operands[1];
  try {
    const Extent r = rest - algebra::from_terms({*inner});
    return inner->coefficient > 0 ? floordiv(x + e * r, e * d) : -floordiv(x + e * (Extent(d - 1) - r), e * d);
  } catch (const NotRepresentable&) {
    return std::nullopt;
  }
}

Extent divide_by_constant(const Extent& a, int64_t d) {
  auto [quotient, rest] = split_by_constant(a, d);
  if (rest.is_constant()) {
    return quotient;
  }
  if (const auto g = static_cast<int64_t>(content(rest, static_cast<uint64_t>(d), false)); g > 1) {
    std::vector<Term> reduced = algebra::Access::polynomial(rest)->terms;
    for (Term& t : reduced) {
      t.coefficient = *checked_floordiv(t.coefficient, g);
    }
    rest = algebra::from_terms(std::move(reduced));
    d /= g;
  }
  if (const auto merged = merge_nested(rest, d)) {
    return quotient + *merged;
  }
  if (!algebra::leads_negative(rest)) {
    return quotient + algebra::make_atom(AtomKind::floordiv, {rest, d});
  }
  // Negation turns a remainder d/2 into -d/2, which is split again; the first term becomes positive and stays so.
  auto [carried, positive] = split_by_constant(Extent(d - 1) - rest, d);
  return quotient - carried - algebra::make_atom(AtomKind::floordiv, {positive, d});
}

struct Descending {
  bool operator()(const MonomialRef& a, const MonomialRef& b) const { return compare_monomials(a, b) > 0; }
};

/// Polynomial division by a divisor with a positive first coefficient. With `exact`, nothing unless it comes out even.
std::optional<Division> split_by_polynomial(const Extent& a, const Extent& d, bool exact) {
  const TermsOf divisor(d);
  const Term& lead = *divisor.begin();
  std::map<MonomialRef, int64_t, Descending> work;
  for (const Term& t : TermsOf(a)) {
    work.emplace(t.monomial, t.coefficient);
  }
  std::vector<Term> quotient;
  std::vector<Term> rest;
  size_t products = 0;
  while (!work.empty()) {
    const Term top{work.begin()->first, work.begin()->second};
    work.erase(work.begin());
    const auto monomial = divide(top.monomial, lead.monomial);
    const int64_t r = monomial ? nearest_remainder(top.coefficient, lead.coefficient) : top.coefficient;
    if (r != 0) {
      if (exact) {
        return std::nullopt;
      }
      rest.push_back({top.monomial, r});
    }
    const int64_t factor = monomial ? quotient_without(top.coefficient, r, lead.coefficient) : 0;
    if (factor == 0) {
      continue;
    }
    quotient.push_back({*monomial, factor});
    for (const Term* t = divisor.begin() + 1; t != divisor.end(); ++t) {
      const auto entry = work.try_emplace(multiply(*monomial, t->monomial), 0).first;
      const auto change = checked_mul(factor, t->coefficient);
      const auto value = change ? checked_sub(entry->second, *change) : std::nullopt;
      if (!value) {
        throw ArithmeticOverflow{};
      }
      entry->second = *value;
      if (*value == 0) {
        work.erase(entry);
      }
    }
    products += divisor.size();
    if (products > algebra::kMaxProducts) {
      not_representable("extent is too large: dividing {} terms by {} terms", TermsOf(a).size(), divisor.size());
    }
  }
  return Division{algebra::from_terms(std::move(quotient)), algebra::from_terms(std::move(rest))};
}

MonomialRef common_factors_of_terms(const Extent& a, MonomialRef seed) {
  for (const Term& t : TermsOf(a)) {
    seed = common_factors(seed, t.monomial);
  }
  return seed;
}

Extent divided_terms(const Extent& a, const MonomialRef& monomial, int64_t number) {
  std::vector<Term> terms;
  for (const Term& t : TermsOf(a)) {
    terms.push_back({*divide(t.monomial, monomial), t.coefficient / number});
  }
  return algebra::from_terms(std::move(terms));
}

Extent divide_by_polynomial(const Extent& a, const Extent& d) {
  const auto [quotient, rest] = *split_by_polynomial(a, d, false);
  if (rest == Extent()) {
    return quotient;
  }
  const uint64_t g = content(rest, content(d, 0, true), true);
  MonomialRef shared = common_factors_of_terms(d, TermsOf(rest).begin()->monomial);
  shared = common_factors_of_terms(rest, std::move(shared));
  if (shared != nullptr || g > 1) {
    if (g > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      throw ArithmeticOverflow{};
    }
    const auto number = static_cast<int64_t>(g);
    return quotient + floordiv(divided_terms(rest, shared, number), divided_terms(d, shared, number));
  }
  return quotient + algebra::make_atom(AtomKind::floordiv, {rest, d});
}

}  // namespace

Extent floordiv(const Extent& a, const Extent& b) {
  try {
    if (!b.is_constant()) {
      return algebra::leads_negative(b) ? divide_by_polynomial(-a, -b) : divide_by_polynomial(a, b);
    }
    const int64_t d = *b.constant();
    if (d == 0) {
      division_by_zero(a, "floordiv");
    }
    if (a.is_constant()) {
      const auto value = checked_floordiv(*a.constant(), d);
      return value ? *value : throw ArithmeticOverflow{};
    }
    if (d == std::numeric_limits<int64_t>::min()) {
      throw ArithmeticOverflow{};
    }
    return d == 1 ? a : d < 0 ? floordiv(-a, -d) : divide_by_constant(a, d);
  } catch (const ArithmeticOverflow&) {
    algebra::overflow(a, "floordiv", b);
  }
}

Extent ceildiv(const Extent& a, const Extent& b) {
  if (b.is_constant()) {
    const int64_t d = *b.constant();
    if (d == 0) {
      division_by_zero(a, "ceildiv");
    }
    if (a.is_constant()) {
      const auto value = checked_floordiv(*a.constant(), d);
      if (!value) {
        algebra::overflow(a, "ceildiv", b);
      }
      return *value + (*checked_floormod(*a.constant(), d) != 0 ? 1 : 0);
    }
    if (d > 0) {
      return floordiv(a + (d - 1), d);
    }
  }
  return -floordiv(-a, b);
}

Extent mod(const Extent& a, const Extent& b) {
  if (b.is_constant() && *b.constant() == 0) {
    division_by_zero(a, "mod");
  }
  if (a.is_constant() && b.is_constant()) {
    return *checked_floormod(*a.constant(), *b.constant());
  }
  return a - b * floordiv(a, b);
}

std::optional<Extent> divide_exactly(const Extent& a, const Extent& b) {
  if (b == Extent()) {
    return std::nullopt;
  }
  try {
    if (TermsOf(b).begin()->coefficient < 0) {
      return divide_exactly(-a, -b);
    }
    auto division = split_by_polynomial(a, b, true);
    return division ? std::optional(std::move(division->quotient)) : std::nullopt;
  } catch (const ArithmeticOverflow&) {
    return std::nullopt;
  } catch (const NotRepresentable&) {  // a coefficient without a negative, or beyond the limits: not proven
    return std::nullopt;
  }
}

}  // namespace tenon
