// Minima and maxima of many operands.
#include <algorithm>
#include <iterator>
#include <limits>

#include "base/fail.h"
#include "shape/extent_polynomial.h"

namespace tenon {

using algebra::Atom;
using algebra::AtomKind;

namespace {

/// An operand as a varying part and a constant: operands with the same varying part differ by a constant.
struct Operand {
  Extent varying;
  int64_t constant = 0;
};

Operand split(const Extent& e) { return {algebra::without_constant(e), algebra::constant_term(e)}; }

bool has_negative(const Operand& o) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  const algebra::TermsOf terms(o.varying);
  return o.constant != kMin &&
         std::none_of(terms.begin(), terms.end(), [](const algebra::Term& t) { return t.coefficient == kMin; });
}

/// Larger factors stay outside: multiplying them in could overflow where the whole does not.
constexpr int64_t kLargestFactor = int64_t{1} << 20;

AtomKind opposite(AtomKind kind) { return kind == AtomKind::min ? AtomKind::max : AtomKind::min; }

/// min(2*min(a, b) + 1, c) has the operands 2*a + 1, 2*b + 1, c, and min(-max(a, b), c) has -a, -b, c: however a
/// minimum was put together, it comes apart the same, and a chain of them does not nest.
void flatten(AtomKind kind, const Extent& e, std::vector<Operand>& operands) {
  Operand operand = split(e);
  const algebra::TermsOf terms(operand.varying);
  const int64_t factor = std::distance(terms.begin(), terms.end()) == 1 ? terms.begin()->coefficient : 1;
  const bool small = factor >= -kLargestFactor && factor <= kLargestFactor;
  const Atom* atom = small ? algebra::as_atom(operand.varying, factor) : nullptr;
  if (atom == nullptr || atom->kind != (factor < 0 ? opposite(kind) : kind)) {
    operands.push_back(std::move(operand));
    return;
  }
  for (const Extent& inner : atom->operands) {
    operands.push_back(split(factor * inner + operand.constant));
  }
}

Extent extremum(AtomKind kind, const std::vector<Extent>& list) {
  std::vector<Operand> operands;
  for (const Extent& e : list) {
    flatten(kind, e, operands);
  }
  // Of the operands with one varying part the first after sorting is the one that decides.
  std::sort(operands.begin(), operands.end(), [&](const Operand& a, const Operand& b) {
    const auto order = a.varying <=> b.varying;
    return order != 0 ? order < 0 : kind == AtomKind::min ? a.constant < b.constant : a.constant > b.constant;
  });
  operands.erase(std::unique(operands.begin(), operands.end(),
                             [](const Operand& a, const Operand& b) { return a.varying == b.varying; }),
                 operands.end());
  // min(-a, -b) is -max(a, b): one of the two forms, the one with the fewer signs.
  const bool negated = operands.size() > 1 && std::all_of(operands.begin(), operands.end(), [](const Operand& o) {
                         return (o.varying.is_constant() || algebra::leads_negative(o.varying)) && has_negative(o);
                       });
  std::vector<Extent> result;
  for (const Operand& o : operands) {
    result.push_back(negated ? -(o.varying + o.constant) : o.varying + o.constant);
  }
  if (result.size() == 1) {
    return result[0];
  }
  std::sort(result.begin(), result.end(), [](const Extent& a, const Extent& b) {
    return a.is_constant() != b.is_constant() ? b.is_constant() : a < b;  // a constant is read last
  });
  return negated ? -extremum(opposite(kind), result) : algebra::make_atom(kind, std::move(result));
}

}  // namespace

Extent min(const Extent& a, const Extent& b) {
  if (a.is_constant() && b.is_constant()) {
    return std::min(*a.constant(), *b.constant());
  }
  return extremum(AtomKind::min, {a, b});
}

Extent max(const Extent& a, const Extent& b) {
  if (a.is_constant() && b.is_constant()) {
    return std::max(*a.constant(), *b.constant());
  }
  return extremum(AtomKind::max, {a, b});
}

Extent algebra::rebuild(AtomKind kind, const std::vector<Extent>& operands) {
  TENON_CHECK(kind != AtomKind::name, "a name has no operands");
  return kind == AtomKind::floordiv ? floordiv(operands[0], operands[1]) : extremum(kind, operands);
}

}  // namespace tenon
