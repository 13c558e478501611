// The constraints of a model, kept solved: what is implied is gone, what contradicts is an error at once.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "shape/constraint_logic.h"
#include "tenon/assumptions.h"
#include "tenon/bindings.h"
#include "tenon/constraint.h"
#include "tenon/extent.h"

namespace tenon {

/// Constraints that can hold together. Equalities eliminate names:
///   add  b == a, hidden == 768, out == in-kernel+1        substitutions  b: a, hidden: 768, out: in-kernel+1
///   add  b >= 4, a >= 2, 2*hidden multiple of 8           remaining      a >= 4
/// A value; not safe for a writer beside readers.
class ConstraintSet {
 public:
  /// Drop what is proven or implied, keep the rest. Error when the constraint cannot hold, alone or together with
  /// those that are here; it names the operators of all that clash, and the set stays as it was.
  void add(const Constraint& constraint);

  /// What no substitution expresses, in terms of the names that are left.
  const std::vector<Constraint>& remaining() const { return remaining_; }

  /// The constraints that became substitutions, as they were added.
  const std::vector<Constraint>& equalities() const { return equalities_; }

  /// All that were neither proven nor implied when they were added, in order.
  const std::vector<Constraint>& added() const { return added_; }

  /// Those of added() that speak of none of these names.
  ConstraintSet without(const std::set<std::string, std::less<>>& names) const;

  /// What the set says of single names: their ranges and divisors.
  const Assumptions& assumptions() const { return assumptions_; }

  /// Each eliminated name with its constant, representative or expression, over names that are left.
  const std::map<std::string, Extent, std::less<>>& substitutions() const { return substitutions_; }

  /// The substitution of a name, or the name itself. Of equal names the one that is_preferred_name() stays; a
  /// constant wins over names.
  Extent representative(std::string_view name) const;

  /// The bindings and every further name that equalities determine from them, in either direction.
  /// Error when one would be negative or no integer.
  Bindings complete(const Bindings& bindings) const;

  /// Check every constraint at these sizes (completed), each once and in the names it was added with. The first that
  /// fails throws; so does one of which a name is not bound.
  void check(const Bindings& bindings) const;

 private:
  struct Entry {
    Constraint given;
    Constraint reduced;
    std::optional<Fact> fact;  // told to assumptions_, from where the entry must not be proven
  };

  // These answer what became of a constraint: holds (implied, nothing kept), unknown (kept), fails (a contradiction;
  // the set is then of no further use).
  Verdict insert(Constraint given);
  Verdict eliminate(const std::string& name, const Extent& value, const Constraint& given);
  Verdict keep(const Constraint& given, Constraint reduced);
  Verdict learn(const Fact& fact);
  Verdict demand_size(const Extent& value);
  template <class Predicate>
  Verdict insert_again(Predicate which);

  Constraint reduce(const Constraint& given) const;
  std::optional<std::vector<Constraint>> find_clash(const Constraint& constraint) const;
  [[noreturn]] void fail_contradiction(const Constraint& constraint) const;

  std::vector<Constraint> added_;  // all that were kept when added, in order: they explain contradictions
  std::vector<Constraint> equalities_;
  std::vector<Entry> entries_;
  std::vector<Constraint> remaining_;  // of entries_, the reduced
  std::map<std::string, Extent, std::less<>> substitutions_;
  Assumptions assumptions_;
};

}  // namespace tenon
