// Ranges of integers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tenon {

/// The integers from `low` to `high`, both included; an absent end is unbounded.
struct Interval {
  std::optional<int64_t> low;
  std::optional<int64_t> high;

  static Interval single(int64_t value) { return {value, value}; }

  bool contains(int64_t value) const { return (!low || *low <= value) && (!high || value <= *high); }
  /// The one value in it, when it holds just one.
  std::optional<int64_t> value() const { return low && low == high ? low : std::nullopt; }
  bool empty() const { return low && high && *low > *high; }
  std::string to_string() const;  ///< `[0, 7]`, `[1, inf]`

  friend bool operator==(const Interval&, const Interval&) = default;
};

}  // namespace tenon
