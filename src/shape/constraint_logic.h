// What follows from one constraint, or from two: the steps of reasoning that a ConstraintSet is made of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tenon/assumptions.h"
#include "tenon/constraint.h"

namespace tenon {

/// A bound or a divisor of one name.
struct Fact {
  enum class Side : uint8_t { lower, upper, divisor };
  std::string name;
  Side side = Side::lower;
  int64_t value = 0;

  /// Whether this says no more than the other.
  bool follows_from(const Fact& other) const;

  /// The fact as a constraint, needed where `source` is.
  Constraint as_constraint(const Constraint& source) const;

  /// False when the assumptions leave no value for the name then.
  bool tell(Assumptions& assumptions) const;
};

/// The fact that a constraint amounts to exactly: `2*n+1 >= 8` is n >= 4, `6*n multiple of 4` is n a multiple of 2.
std::optional<Fact> fact_of(const Constraint& constraint);

/// An equality as {name, what it equals}: names, definitions (`out == in-k+1`), and what can be solved in integers
/// for a name (`2*a == 2*b+4` is a == b+2). Of two names the preferred one stays.
std::optional<std::pair<std::string, Extent>> solve_equality(const Extent& lhs, const Extent& rhs);

/// Which of two names stands for both when they are equal: one that somebody chose before a generated one, then the
/// lexicographically first.
bool is_preferred_name(std::string_view a, std::string_view b);

/// The equality that a broadcast amounts to when one of its two ways is ruled out.
std::optional<Constraint> broadcast_as_equality(const Constraint& constraint, const Assumptions& assumptions);

/// What becomes of a constraint when `other` holds.
Verdict decide_beside(const Constraint& constraint, const Constraint& other, const Assumptions& assumptions);

bool mentions(const Extent& extent, std::string_view name);
bool mentions(const Constraint& constraint, std::string_view name);

}  // namespace tenon
