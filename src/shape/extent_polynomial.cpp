#include "shape/extent_polynomial.h"

#include <algorithm>

#include "base/checked.h"
#include "base/fail.h"
#include "base/hash.h"
#include "shape/not_representable.h"

namespace tenon::algebra {
namespace {

[[noreturn]] void too_large() {
  not_representable("extent is too large: its canonical form has more than {} terms", kMaxTerms);
}

MonomialRef make_monomial(std::vector<Factor> factors) {
  if (factors.empty()) {
    return nullptr;
  }
  auto m = std::make_shared<Monomial>();
  for (const Factor& f : factors) {
    m->degree += f.power;
    m->size += f.atom->size * f.power;
    m->depth = std::max(m->depth, f.atom->depth);
    m->hash = combine_hash(combine_hash(m->hash, f.atom->hash), f.power);
  }
  if (m->degree > kMaxDegree) {
    not_representable("extent is too large: a product of more than {} factors", kMaxDegree);
  }
  m->factors = std::move(factors);
  return m;
}

AtomRef finish_atom(Atom atom) {
  atom.hash = combine_hash(hash_bytes(atom.name), static_cast<uint64_t>(atom.kind));
  for (const Extent& e : atom.operands) {
    const Polynomial* p = Access::polynomial(e);
    atom.size += p != nullptr ? p->size : 1;
    atom.depth = std::max(atom.depth, p != nullptr ? p->depth + 1 : 1);
    atom.hash = combine_hash(atom.hash, e.hash());
  }
  if (atom.depth > kMaxDepth) {
    not_representable("extent is too large: more than {} divisions, minima or maxima inside each other", kMaxDepth);
  }
  return std::make_shared<const Atom>(std::move(atom));
}

uint32_t degree(const MonomialRef& m) { return m != nullptr ? m->degree : 0; }

}  // namespace

std::strong_ordering compare_atoms(const Atom& a, const Atom& b) {
  if (&a == &b) {
    return std::strong_ordering::equal;
  }
  if (const auto c = a.kind <=> b.kind; c != 0) {
    return c;
  }
  if (const int c = a.name.compare(b.name); c != 0) {
    return c <=> 0;
  }
  return std::lexicographical_compare_three_way(a.operands.begin(), a.operands.end(), b.operands.begin(),
                                                b.operands.end());
}

std::strong_ordering compare_monomials(const MonomialRef& a, const MonomialRef& b) {
  if (a == b) {
    return std::strong_ordering::equal;
  }
  if (const auto c = degree(a) <=> degree(b); c != 0) {
    return c;
  }
  // Equal degrees, both positive: neither list is a proper prefix of the other.
  for (size_t i = 0; i < a->factors.size() && i < b->factors.size(); ++i) {
    if (const auto c = compare_atoms(*b->factors[i].atom, *a->factors[i].atom); c != 0) {
      return c;
    }
    if (const auto c = a->factors[i].power <=> b->factors[i].power; c != 0) {
      return c;
    }
  }
  return std::strong_ordering::equal;
}

MonomialRef multiply(const MonomialRef& a, const MonomialRef& b) {
  if (a == nullptr || b == nullptr) {
    return a != nullptr ? a : b;
  }
  std::vector<Factor> factors;
  factors.reserve(a->factors.size() + b->factors.size());
  auto i = a->factors.begin();
  auto j = b->factors.begin();
  while (i != a->factors.end() && j != b->factors.end()) {
    const auto order = compare_atoms(*i->atom, *j->atom);
    if (order == 0) {
      factors.push_back({i->atom, i->power + j->power});
      ++i;
      ++j;
    } else {
      factors.push_back(order < 0 ? *i++ : *j++);
    }
  }
  factors.insert(factors.end(), i, a->factors.end());
  factors.insert(factors.end(), j, b->factors.end());
  return make_monomial(std::move(factors));
}

std::optional<MonomialRef> divide(const MonomialRef& a, const MonomialRef& b) {
  if (b == nullptr) {
    return a;
  }
  if (degree(a) < degree(b)) {
    return std::nullopt;
  }
  std::vector<Factor> factors;
  auto j = b->factors.begin();
  for (const Factor& f : a->factors) {
    if (j != b->factors.end() && compare_atoms(*f.atom, *j->atom) == 0) {
      if (f.power < j->power) {
        return std::nullopt;
      }
      if (f.power > j->power) {
        factors.push_back({f.atom, f.power - j->power});
      }
      ++j;
    } else {
      factors.push_back(f);
    }
  }
  if (j != b->factors.end()) {
    return std::nullopt;
  }
  return make_monomial(std::move(factors));
}

MonomialRef common_factors(const MonomialRef& a, const MonomialRef& b) {
  if (a == nullptr || b == nullptr || a == b) {
    return a == b ? a : nullptr;
  }
  std::vector<Factor> factors;
  auto i = a->factors.begin();
  auto j = b->factors.begin();
  while (i != a->factors.end() && j != b->factors.end()) {
    const auto order = compare_atoms(*i->atom, *j->atom);
    if (order == 0) {
      factors.push_back({i->atom, std::min(i->power, j->power)});
    }
    i += order <= 0 ? 1 : 0;
    j += order >= 0 ? 1 : 0;
  }
  return make_monomial(std::move(factors));
}

Extent from_terms(std::vector<Term> terms) {
  const auto descending = [](const Term& a, const Term& b) { return compare_monomials(a.monomial, b.monomial) > 0; };
  if (!std::is_sorted(terms.begin(), terms.end(), descending)) {
    std::sort(terms.begin(), terms.end(), descending);
  }
  size_t kept = 0;
  for (size_t i = 0; i < terms.size();) {
    Term term = std::move(terms[i]);
    for (++i; i < terms.size() && compare_monomials(terms[i].monomial, term.monomial) == 0; ++i) {
      const auto sum = checked_add(term.coefficient, terms[i].coefficient);
      if (!sum) {
        throw ArithmeticOverflow{};
      }
      term.coefficient = *sum;
    }
    if (term.coefficient != 0) {
      terms[kept++] = std::move(term);
    }
  }
  terms.resize(kept);
  return from_canonical(std::move(terms));
}

Extent from_canonical(std::vector<Term> terms) {
  if (terms.empty()) {
    return {};
  }
  if (terms.front().monomial == nullptr) {
    return terms.front().coefficient;
  }
  auto p = std::make_shared<Polynomial>();
  p->hash = 1;
  for (const Term& t : terms) {
    p->size += 1 + (t.monomial != nullptr ? t.monomial->size : 0);
    p->depth = std::max(p->depth, t.monomial != nullptr ? t.monomial->depth : 0);
    p->hash = combine_hash(p->hash, t.monomial != nullptr ? t.monomial->hash : 0);
    p->hash = combine_hash(p->hash, static_cast<uint64_t>(t.coefficient));
  }
  if (p->size > kMaxTerms) {
    too_large();
  }
  p->terms = std::move(terms);
  return Access::make(std::move(p));
}

Extent make_atom(AtomKind kind, std::vector<Extent> operands) {
  Atom atom;
  atom.kind = kind;
  atom.operands = std::move(operands);
  return of_atom(finish_atom(std::move(atom)));
}

Extent of_atom(const AtomRef& atom) { return from_terms({{make_monomial({{atom, 1}}), 1}}); }

const Atom* as_atom(const Extent& e, int64_t coefficient) {
  const Polynomial* p = Access::polynomial(e);
  const Term* only = p != nullptr && p->terms.size() == 1 ? p->terms.data() : nullptr;
  if (only == nullptr || only->coefficient != coefficient || only->monomial->degree != 1) {
    return nullptr;
  }
  return only->monomial->factors[0].atom.get();
}

int64_t constant_term(const Extent& e) {
  if (e.is_constant()) {
    return *e.constant();
  }
  const Term& last = Access::polynomial(e)->terms.back();
  return last.monomial == nullptr ? last.coefficient : 0;
}

Extent without_constant(const Extent& e) {
  if (e.is_constant() || constant_term(e) == 0) {
    return e.is_constant() ? Extent() : e;
  }
  std::vector<Term> terms = Access::polynomial(e)->terms;
  terms.pop_back();
  return from_terms(std::move(terms));
}

bool leads_negative(const Extent& e) {
  const Polynomial* p = Access::polynomial(e);
  return p != nullptr && p->terms[0].coefficient < 0;
}

std::vector<AtomRef> top_atoms(const Extent& e) {
  std::vector<AtomRef> atoms;
  for (const Term& t : TermsOf(e)) {
    for (size_t i = 0; t.monomial != nullptr && i < t.monomial->factors.size(); ++i) {
      const AtomRef& atom = t.monomial->factors[i].atom;
      if (std::none_of(atoms.begin(), atoms.end(), [&](const AtomRef& a) { return compare_atoms(*a, *atom) == 0; })) {
        atoms.push_back(atom);
      }
    }
  }
  return atoms;
}

Extent transform_atoms(const Extent& e, const std::function<Extent(const AtomRef&)>& f) {
  if (e.is_constant()) {
    return e;
  }
  Extent sum;
  for (const Term& t : TermsOf(e)) {
    Extent product = t.coefficient;
    for (size_t i = 0; t.monomial != nullptr && i < t.monomial->factors.size(); ++i) {
      const Extent base = f(t.monomial->factors[i].atom);
      for (uint32_t k = 0; k < t.monomial->factors[i].power; ++k) {
        product *= base;
      }
    }
    sum += product;
  }
  return sum;
}

Extent cofactor(const Extent& e, const Atom& atom) {
  std::vector<Term> terms;
  for (const Term& t : TermsOf(e)) {
    for (size_t i = 0; t.monomial != nullptr && i < t.monomial->factors.size(); ++i) {
      if (t.monomial->factors[i].power == 1 && compare_atoms(*t.monomial->factors[i].atom, atom) == 0) {
        std::vector<Factor> others = t.monomial->factors;
        others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
        terms.push_back({make_monomial(std::move(others)), t.coefficient});
        break;
      }
    }
  }
  return from_terms(std::move(terms));
}

}  // namespace tenon::algebra

namespace tenon {

Extent Extent::name(std::string_view axis) {
  if (axis.empty()) {
    fail("the name of an axis is empty");
  }
  algebra::Atom atom;
  atom.name = axis;
  return algebra::of_atom(algebra::finish_atom(std::move(atom)));
}

}  // namespace tenon
