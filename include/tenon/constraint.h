// What has to hold between sizes for an operator to make sense.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tenon/assumptions.h"
#include "tenon/extent.h"

namespace tenon {

/// A relation between two extents, and who needs it. needed_by and place are side data: not compared, not hashed.
struct Constraint {
  enum class Kind : uint8_t {
    equal,
    at_least,    ///< lhs >= rhs
    divisible,   ///< rhs divides lhs; 0 divides 0 alone
    broadcasts,  ///< lhs is 1 or equals rhs
  };

  Kind kind = Kind::equal;
  Extent lhs = {};
  Extent rhs = {};
  std::string needed_by = {};  ///< the operator, such as "matmul"; may be empty
  std::string place = {};      ///< the node in the user's model; may be empty

  friend bool operator==(const Constraint& a, const Constraint& b) {
    return a.kind == b.kind && a.lhs == b.lhs && a.rhs == b.rhs;
  }
  uint64_t hash() const;

  /// `a == b`, `a >= b`, `a multiple of b`, `a broadcasts to b`; parse_constraint() reads it back.
  std::string to_string() const;
};

enum class Verdict : uint8_t { holds, fails, unknown };

/// Whether the constraint holds for every, for no, or for some sizes that the assumptions allow.
Verdict decide(const Constraint& constraint, const Assumptions& assumptions = {});

/// Read a relation as users write it:
///   out = in - kernel + 1     also ==
///   seq >= 4                  also <=, > and <, which become at_least
///   seq multiple of 8         also `8 divides seq`
///   x broadcasts to y
/// `divides`, `multiple` and `broadcasts` are words only between two expressions, so axes may have these names.
Constraint parse_constraint(std::string_view text);

}  // namespace tenon
