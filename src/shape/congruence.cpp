#include "shape/congruence.h"

#include <numeric>

#include "base/checked.h"
#include "shape/extent_polynomial.h"

namespace tenon {

using algebra::Atom;
using algebra::AtomKind;
using algebra::Term;
using algebra::TermsOf;

namespace {

__extension__ using Wide = __int128;

Wide gcd(Wide a, Wide b) {
  while (b != 0) {
    a %= b;
    std::swap(a, b);
  }
  return a < 0 ? -a : a;
}

bool fits(Wide v) { return v == static_cast<int64_t>(v); }

/// A modulus may be replaced by any divisor; one that does not fit 64 bits says nothing.
Congruence make(Wide modulus, Wide rest) {
  if (!fits(modulus) || (modulus == 0 && !fits(rest))) {
    return {};
  }
  if (modulus != 0) {
    rest = (rest % modulus + modulus) % modulus;
  }
  return {static_cast<int64_t>(modulus), static_cast<int64_t>(rest)};
}

Congruence add(const Congruence& a, const Congruence& b) {
  return make(gcd(a.modulus, b.modulus), Wide{a.rest} + b.rest);
}

Congruence multiply(const Congruence& a, const Congruence& b) {
  const Wide modulus = gcd(gcd(Wide{a.modulus} * b.modulus, Wide{a.modulus} * b.rest), Wide{b.modulus} * a.rest);
  return make(modulus, Wide{a.rest} * b.rest);
}

Congruence either(const Congruence& a, const Congruence& b) {
  return make(gcd(gcd(a.modulus, b.modulus), Wide{a.rest} - b.rest), a.rest);
}

/// floor((rest + modulus*t) / d) is floor(rest / d) + (modulus / d)*t when d divides the modulus.
Congruence divide(const Congruence& a, const Extent& divisor) {
  const auto d = divisor.constant();
  if (!d || *d <= 0 || a.modulus % *d != 0) {
    return {};
  }
  return make(a.modulus / *d, *checked_floordiv(a.rest, *d));
}

Congruence of_atom(const Atom& atom, const std::function<int64_t(std::string_view)>& multiple_of) {
  if (atom.kind == AtomKind::name) {
    return {multiple_of(atom.name), 0};
  }
  const Congruence first = congruence_of(atom.operands[0], multiple_of);
  if (atom.kind == AtomKind::floordiv) {
    return divide(first, atom.operands[1]);
  }
  Congruence all = first;
  for (const Extent& operand : atom.operands) {
    all = either(all, congruence_of(operand, multiple_of));
  }
  return all;
}

}  // namespace

bool Congruence::admits(int64_t value) const {
  return modulus == 0 ? value == rest : *checked_floormod(value, modulus) == rest;
}

Congruence congruence_of(const Extent& e, const std::function<int64_t(std::string_view)>& multiple_of) {
  Congruence sum{0, 0};
  for (const Term& t : TermsOf(e)) {
    Congruence product{0, t.coefficient};
    for (size_t i = 0; t.monomial != nullptr && i < t.monomial->factors.size(); ++i) {
      const Congruence base = of_atom(*t.monomial->factors[i].atom, multiple_of);
      for (uint32_t k = 0; k < t.monomial->factors[i].power; ++k) {
        product = multiply(product, base);
      }
    }
    sum = add(sum, product);
  }
  return sum;
}

}  // namespace tenon
