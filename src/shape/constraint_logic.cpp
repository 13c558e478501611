#include "shape/constraint_logic.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <vector>

#include "base/checked.h"
#include "base/fail.h"
#include "base/refused.h"
#include "tenon/shape.h"

namespace tenon {
namespace {

using Kind = Constraint::Kind;

/// What `name` equals when `difference == 0`: name times a constant, plus terms without it that the constant divides.
std::optional<Extent> solve_for(const std::string& name, const Extent& difference) {
  const Extent symbol = Extent::name(name);
  const std::optional<int64_t> factor = (difference.substitute({{name, symbol + 1}}) - difference).constant();
  if (!factor || *factor == 0) {
    return std::nullopt;
  }
  const Extent rest = difference - Extent(*factor) * symbol;
  return mentions(rest, name) ? std::nullopt : divide_exactly(-rest, *factor);
}

/// offset + factor * name >= 0
std::optional<Fact> range_fact(const std::string& name, int64_t offset, int64_t factor) {
  const std::optional<int64_t> floor = checked_floordiv(offset, factor);
  if (!floor || *floor == std::numeric_limits<int64_t>::min()) {
    return std::nullopt;
  }
  if (factor > 0) {
    return Fact{name, Fact::Side::lower, -*floor};  // name >= ceil(-offset / factor)
  }
  const bool exact = *checked_floormod(offset, factor) == 0;
  return Fact{name, Fact::Side::upper, exact ? -*floor : -*floor - 1};  // name <= floor(offset / -factor)
}

/// `by` divides offset + factor * name
std::optional<Fact> divisor_fact(const std::string& name, int64_t offset, int64_t factor, int64_t by) {
  if (by == 0 || by == std::numeric_limits<int64_t>::min() || *checked_floormod(offset, by) != 0) {
    return std::nullopt;
  }
  const int64_t positive = std::abs(by);
  return Fact{name, Fact::Side::divisor, positive / std::gcd(positive, *checked_floormod(factor, positive))};
}

bool proves_negative(const Extent& extent, const Assumptions& assumptions) {
  return proves_at_least(-1, extent, assumptions);
}

bool is_comparison(const Constraint& c) { return c.kind == Kind::equal || c.kind == Kind::at_least; }

}  // namespace

bool mentions(const Extent& extent, std::string_view name) {
  if (extent.is_constant()) {
    return false;
  }
  const std::vector<std::string> names = extent.names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool mentions(const Constraint& constraint, std::string_view name) {
  return mentions(constraint.lhs, name) || mentions(constraint.rhs, name);
}

bool Fact::follows_from(const Fact& other) const {
  if (name != other.name || side != other.side) {
    return false;
  }
  switch (side) {
    case Side::lower: return value <= other.value;
    case Side::upper: return value >= other.value;
    case Side::divisor: return other.value % value == 0;
  }
  TENON_CHECK(false, "fact side {}", static_cast<int>(side));
}

Constraint Fact::as_constraint(const Constraint& source) const {
  const Extent symbol = Extent::name(name);
  switch (side) {
    case Side::lower: return {Kind::at_least, symbol, value, source.needed_by, source.place};
    case Side::upper: return {Kind::at_least, value, symbol, source.needed_by, source.place};
    case Side::divisor: return {Kind::divisible, symbol, value, source.needed_by, source.place};
  }
  TENON_CHECK(false, "fact side {}", static_cast<int>(side));
}

bool Fact::tell(Assumptions& assumptions) const {
  try {
    switch (side) {
      case Side::lower: assumptions.at_least(name, std::max<int64_t>(value, 0)); break;
      case Side::upper: assumptions.at_most(name, value); break;
      case Side::divisor: assumptions.divisible(name, value); break;
    }
    return true;
  } catch (const Refused&) {
    return false;
  }
}

std::optional<Fact> fact_of(const Constraint& constraint) {
  const bool is_range = constraint.kind == Kind::at_least;
  if (!is_range && (constraint.kind != Kind::divisible || !constraint.rhs.is_constant())) {
    return std::nullopt;
  }
  const Extent measured = is_range ? constraint.lhs - constraint.rhs : constraint.lhs;
  const std::vector<std::string> names = measured.names();
  const auto linear = names.size() == 1 ? measured.linear_in(names[0]) : std::nullopt;
  if (!linear) {
    return std::nullopt;
  }
  return is_range ? range_fact(names[0], linear->first, linear->second)
                  : divisor_fact(names[0], linear->first, linear->second, *constraint.rhs.constant());
}

std::optional<std::pair<std::string, Extent>> solve_equality(const Extent& lhs, const Extent& rhs) {
  const std::optional<std::string> left = lhs.as_name();
  const std::optional<std::string> right = rhs.as_name();
  if (left && right) {
    return is_preferred_name(*left, *right) ? std::pair(*right, lhs) : std::pair(*left, rhs);
  }
  if (left && !mentions(rhs, *left)) {
    return std::pair(*left, rhs);
  }
  if (right && !mentions(lhs, *right)) {
    return std::pair(*right, lhs);
  }
  const Extent difference = lhs - rhs;
  std::vector<std::string> names = difference.names();
  std::sort(names.begin(), names.end(), [](const auto& a, const auto& b) { return is_preferred_name(b, a); });
  for (const std::string& name : names) {
    if (const std::optional<Extent> value = solve_for(name, difference)) {
      return std::pair(name, *value);
    }
  }
  return std::nullopt;
}

bool is_preferred_name(std::string_view a, std::string_view b) {
  return is_generated_name(a) != is_generated_name(b) ? is_generated_name(b) : a < b;
}

std::optional<Constraint> broadcast_as_equality(const Constraint& constraint, const Assumptions& assumptions) {
  if (constraint.kind != Kind::broadcasts) {
    return std::nullopt;
  }
  Constraint equality = constraint;
  equality.kind = Kind::equal;
  if (constraint.rhs == Extent(1) || compare(constraint.lhs, 1, assumptions) == Comparison::different) {
    return equality;
  }
  if (compare(constraint.lhs, constraint.rhs, assumptions) == Comparison::different) {
    equality.rhs = 1;
    return equality;
  }
  return std::nullopt;
}

Verdict decide_beside(const Constraint& constraint, const Constraint& other, const Assumptions& assumptions) {
  if (constraint == other) {
    return Verdict::holds;
  }
  if (constraint.kind == Kind::divisible && other.kind == Kind::divisible) {
    return constraint.lhs == other.lhs && divide_exactly(other.rhs, constraint.rhs) ? Verdict::holds : Verdict::unknown;
  }
  if (!is_comparison(constraint) || !is_comparison(other)) {
    return Verdict::unknown;
  }
  // Each says d >= 0 or d == 0. What is at least 0 adds up to at least 0; a zero counts with either sign.
  const Extent mine = constraint.lhs - constraint.rhs;
  const Extent theirs = other.lhs - other.rhs;
  const bool zero = constraint.kind == Kind::equal;
  const bool their_zero = other.kind == Kind::equal;
  if (zero && their_zero && (mine == theirs || mine == -theirs)) {
    return Verdict::holds;
  }
  if (!zero &&
      (proves_at_least(mine, theirs, assumptions) || (their_zero && proves_at_least(mine, -theirs, assumptions)))) {
    return Verdict::holds;
  }
  const bool clash = proves_negative(mine + theirs, assumptions) ||
                     (zero && proves_negative(theirs - mine, assumptions)) ||
                     (their_zero && proves_negative(mine - theirs, assumptions)) ||
                     (zero && their_zero && proves_negative(-mine - theirs, assumptions));
  return clash ? Verdict::fails : Verdict::unknown;
}

}  // namespace tenon
