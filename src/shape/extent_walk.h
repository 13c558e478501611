// One order of evaluation for everything that computes an extent.
#pragma once

#include "shape/extent_polynomial.h"

namespace tenon::algebra {

/// Compute `e` on a machine, which has a type Value and
///   constant(int64_t), name(const std::string&), add, multiply, floordiv, min, max (Value, Value),
///   scale(Value, int64_t), offset(Value, int64_t).
/// The order of operations, and with it which intermediate values overflow, is the same for every machine.
template <class Machine>
typename Machine::Value walk(const Extent& e, Machine& machine);

template <class Machine>
typename Machine::Value walk(const Atom& atom, Machine& machine) {
  if (atom.kind == AtomKind::name) {
    return machine.name(atom.name);
  }
  auto value = walk(atom.operands[0], machine);
  for (size_t i = 1; i < atom.operands.size(); ++i) {
    const auto next = walk(atom.operands[i], machine);
    value = atom.kind == AtomKind::floordiv ? machine.floordiv(value, next)
            : atom.kind == AtomKind::min    ? machine.min(value, next)
                                            : machine.max(value, next);
  }
  return value;
}

template <class Machine>
typename Machine::Value walk(const Monomial& monomial, Machine& machine) {
  std::optional<typename Machine::Value> product;
  for (const Factor& f : monomial.factors) {
    const auto base = walk(*f.atom, machine);
    for (uint32_t k = 0; k < f.power; ++k) {
      product = product ? machine.multiply(*product, base) : base;
    }
  }
  return *product;
}

template <class Machine>
typename Machine::Value walk(const Extent& e, Machine& machine) {
  const Polynomial* p = Access::polynomial(e);
  if (p == nullptr) {
    return machine.constant(*e.constant());
  }
  std::optional<typename Machine::Value> sum;
  for (const Term& t : p->terms) {
    if (t.monomial == nullptr) {
      sum = machine.offset(*sum, t.coefficient);  // the constant is the last term and never the only one
      continue;
    }
    auto value = walk(*t.monomial, machine);
    if (t.coefficient != 1) {
      value = machine.scale(value, t.coefficient);
    }
    sum = sum ? machine.add(*sum, value) : value;
  }
  return *sum;
}

}  // namespace tenon::algebra
