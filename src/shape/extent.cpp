#include "tenon/extent.h"

#include <algorithm>
#include <set>

#include "base/checked.h"
#include "base/fail.h"
#include "base/hash.h"
#include "base/refused.h"
#include "shape/extent_polynomial.h"
#include "shape/extent_walk.h"
#include "shape/not_representable.h"

namespace tenon {

using algebra::Access;
using algebra::ArithmeticOverflow;
using algebra::Atom;
using algebra::AtomKind;
using algebra::AtomRef;
using algebra::Polynomial;
using algebra::Term;
using algebra::TermsOf;

namespace {

int64_t or_overflow(std::optional<int64_t> value) {
  if (!value) {
    throw ArithmeticOverflow{};
  }
  return *value;
}

Extent scaled(const Extent& e, int64_t by) {
  if (by == 0 || by == 1) {
    return by == 0 ? Extent() : e;
  }
  const TermsOf unscaled(e);
  std::vector<Term> terms(unscaled.begin(), unscaled.end());
  for (Term& t : terms) {
    t.coefficient = or_overflow(checked_mul(t.coefficient, by));
  }
  return algebra::from_canonical(std::move(terms));
}

Extent product(const Extent& a, const Extent& b) {
  const TermsOf left(a);
  const TermsOf right(b);
  if (left.size() * right.size() > algebra::kMaxProducts) {
    not_representable("extent is too large: a product of {} terms by {} terms", left.size(), right.size());
  }
  std::vector<Term> terms;
  terms.reserve(left.size() * right.size());
  for (const Term& x : left) {
    for (const Term& y : right) {
      terms.push_back({multiply(x.monomial, y.monomial), or_overflow(checked_mul(x.coefficient, y.coefficient))});
    }
  }
  return algebra::from_terms(std::move(terms));
}

Extent sum(const Extent& a, const Extent& b) {
  const TermsOf left(a);
  const TermsOf right(b);
  std::vector<Term> terms;
  terms.reserve(left.size() + right.size());
  const Term* x = left.begin();
  const Term* y = right.begin();
  while (x != left.end() && y != right.end()) {
    const auto order = compare_monomials(x->monomial, y->monomial);
    if (order != 0) {
      terms.push_back(order > 0 ? *x++ : *y++);
      continue;
    }
    if (const int64_t c = or_overflow(checked_add(x->coefficient, y->coefficient)); c != 0) {
      terms.push_back({x->monomial, c});
    }
    ++x;
    ++y;
  }
  terms.insert(terms.end(), x, left.end());
  terms.insert(terms.end(), y, right.end());
  return algebra::from_canonical(std::move(terms));
}

void collect_names(const Extent& e, std::set<std::string>& names) {
  for (const AtomRef& atom : algebra::top_atoms(e)) {
    if (atom->kind == AtomKind::name) {
      names.insert(atom->name);
    }
    for (const Extent& operand : atom->operands) {
      collect_names(operand, names);
    }
  }
}

struct DivisionByZero {};
struct UnboundName {
  std::string name;
};

struct ValueMachine {
  using Value = int64_t;
  const std::function<std::optional<int64_t>(std::string_view)>& lookup;

  int64_t constant(int64_t value) const { return value; }
  int64_t name(const std::string& axis) const {
    const auto value = lookup(axis);
    if (!value) {
      throw UnboundName{axis};
    }
    return *value;
  }
  int64_t add(int64_t a, int64_t b) const { return or_overflow(checked_add(a, b)); }
  int64_t offset(int64_t a, int64_t b) const { return or_overflow(checked_add(a, b)); }
  int64_t multiply(int64_t a, int64_t b) const { return or_overflow(checked_mul(a, b)); }
  int64_t scale(int64_t a, int64_t b) const { return or_overflow(checked_mul(a, b)); }
  int64_t floordiv(int64_t a, int64_t b) const {
    if (b == 0) {
      throw DivisionByZero{};
    }
    return or_overflow(checked_floordiv(a, b));
  }
  int64_t min(int64_t a, int64_t b) const { return std::min(a, b); }
  int64_t max(int64_t a, int64_t b) const { return std::max(a, b); }
};

}  // namespace

std::optional<int64_t> Extent::constant() const { return is_constant() ? std::optional(value_) : std::nullopt; }

std::optional<std::string> Extent::as_name() const {
  const Atom* atom = algebra::as_atom(*this);
  return atom != nullptr && atom->kind == AtomKind::name ? std::optional(atom->name) : std::nullopt;
}

std::vector<std::string> Extent::names() const {
  std::set<std::string> names;
  collect_names(*this, names);
  return {names.begin(), names.end()};
}

Extent Extent::substitute(const std::map<std::string, Extent, std::less<>>& by) const {
  return algebra::transform_atoms(*this, [&](const AtomRef& atom) -> Extent {
    if (atom->kind == AtomKind::name) {
      const auto found = by.find(atom->name);
      return found != by.end() ? found->second : algebra::of_atom(atom);
    }
    std::vector<Extent> operands;
    operands.reserve(atom->operands.size());
    for (const Extent& operand : atom->operands) {
      operands.push_back(operand.substitute(by));
    }
    if (operands == atom->operands) {
      return algebra::of_atom(atom);
    }
    return algebra::rebuild(atom->kind, operands);
  });
}

int64_t Extent::evaluate(const std::function<std::optional<int64_t>(std::string_view)>& lookup) const {
  if (is_constant()) {
    return value_;
  }
  const auto binding = [&] {
    std::string text;
    for (const std::string& axis : names()) {
      const auto value = lookup(axis);
      text += fmt::format("{}{}={}", text.empty() ? "" : ", ", Extent::name(axis).to_string(), value.value_or(0));
    }
    return text;
  };
  try {
    ValueMachine machine{lookup};
    return algebra::walk(*this, machine);
  } catch (const UnboundName& unbound) {
    refuse("extent `{}`: axis `{}` is not bound", algebra::brief(*this), unbound.name);
  } catch (const DivisionByZero&) {
    not_representable("extent `{}` divides by zero at {}", algebra::brief(*this), binding());
  } catch (const ArithmeticOverflow&) {
    not_representable("extent `{}` overflows 64 bits at {}", algebra::brief(*this), binding());
  }
}

std::optional<std::pair<int64_t, int64_t>> Extent::linear_in(std::string_view axis) const {
  const Polynomial* p = Access::polynomial(*this);
  if (p == nullptr || p->terms.size() > 2 || p->terms[0].monomial->degree != 1) {
    return std::nullopt;
  }
  const Atom& atom = *p->terms[0].monomial->factors[0].atom;
  if (atom.kind != AtomKind::name || atom.name != axis || (p->terms.size() == 2 && p->terms[1].monomial != nullptr)) {
    return std::nullopt;
  }
  return std::pair(algebra::constant_term(*this), p->terms[0].coefficient);
}

uint64_t Extent::hash() const {
  return is_constant() ? mix_hash(static_cast<uint64_t>(value_) + 0x5851f42d4c957f2dULL) : polynomial_->hash;
}

bool operator==(const Extent& a, const Extent& b) {
  if (a.is_constant() || b.is_constant()) {
    return a.is_constant() && b.is_constant() && a.value_ == b.value_;
  }
  return a.polynomial_ == b.polynomial_ || (a.polynomial_->hash == b.polynomial_->hash && (a <=> b) == 0);
}

std::strong_ordering operator<=>(const Extent& a, const Extent& b) {
  if (a.is_constant() || b.is_constant()) {
    return a.is_constant() && b.is_constant() ? a.value_ <=> b.value_ : b.is_constant() <=> a.is_constant();
  }
  if (a.polynomial_ == b.polynomial_) {
    return std::strong_ordering::equal;
  }
  const std::vector<Term>& x = a.polynomial_->terms;
  const std::vector<Term>& y = b.polynomial_->terms;
  for (size_t i = 0; i < x.size() && i < y.size(); ++i) {
    if (const auto c = compare_monomials(y[i].monomial, x[i].monomial); c != 0) {
      return c;
    }
    if (const auto c = x[i].coefficient <=> y[i].coefficient; c != 0) {
      return c;
    }
  }
  return x.size() <=> y.size();
}

Extent operator+(const Extent& a, const Extent& b) {
  try {
    if (a.is_constant() && b.is_constant()) {
      return or_overflow(checked_add(a.value_, b.value_));
    }
    return a == Extent() ? b : b == Extent() ? a : sum(a, b);
  } catch (const ArithmeticOverflow&) {
    algebra::overflow(a, "+", b);
  }
}

Extent operator-(const Extent& a, const Extent& b) {
  try {
    if (a.is_constant() && b.is_constant()) {
      return or_overflow(checked_sub(a.value_, b.value_));
    }
    return b == Extent() ? a : sum(a, scaled(b, -1));
  } catch (const ArithmeticOverflow&) {
    algebra::overflow(a, "-", b);
  }
}

Extent operator*(const Extent& a, const Extent& b) {
  try {
    if (a.is_constant() && b.is_constant()) {
      return or_overflow(checked_mul(a.value_, b.value_));
    }
    return a.is_constant() ? scaled(b, a.value_) : b.is_constant() ? scaled(a, b.value_) : product(a, b);
  } catch (const ArithmeticOverflow&) {
    algebra::overflow(a, "*", b);
  }
}

Extent operator-(const Extent& a) { return Extent(0) - a; }

Extent& Extent::operator+=(const Extent& other) { return *this = *this + other; }
Extent& Extent::operator-=(const Extent& other) { return *this = *this - other; }
Extent& Extent::operator*=(const Extent& other) { return *this = *this * other; }

}  // namespace tenon
